"""Rigs that tests share: servers, clocks, a proxy that breaks connections. Never imported by shipping code."""
