"""What comes along for trying things out."""

from pathlib import Path

CATALOGUE = Path(__file__).parent / "catalogue"
"""Example templates, as a folder that a catalogue can be."""
