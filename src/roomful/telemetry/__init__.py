"""Traces, for whoever collects them."""

from roomful.telemetry.otlp import OtlpTracer

__all__ = ["OtlpTracer"]
