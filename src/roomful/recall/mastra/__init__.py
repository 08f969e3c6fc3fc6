"""Conversations that Mastra recorded, turned into messages. Its words (thread, part, state) stay in here."""

from roomful.recall.mastra.importing import Imported, Into, imported
from roomful.recall.mastra.reading import Recording, read_recording

__all__ = ["Imported", "Into", "Recording", "imported", "read_recording"]
