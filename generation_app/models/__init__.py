"""Rows of streams and generations."""

from generation_app.models.generation import Generation, GenerationState
from generation_app.models.stream import Stream, StreamPiece, StreamState

__all__ = ["Generation", "GenerationState", "Stream", "StreamPiece", "StreamState"]
