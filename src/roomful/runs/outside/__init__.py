"""Agents outside the gateway: what they say on the bus, and what they are told there."""
