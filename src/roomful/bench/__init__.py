"""`roomful bench`: the gateway measured against the least that its work can cost on this machine.

A scripted model (`model.py`) speaks to two servers: the gateway, as `roomful serve` starts it, and a raw one
(`raw.py`) that decodes each delta, encodes an event once and writes it. Both are asked the same, by turns.
"""
