"""Application templates: a first document that declares defaults and inputs, then resources with `${{ … }}` in them."""
