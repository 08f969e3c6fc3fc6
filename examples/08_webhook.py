"""A webhook tool: a signed request goes to a service, and the result comes back later.

    python examples/08_webhook.py

The service answers 202 and keeps the `callbackUrl` of the order. Until a result is posted there the run
waits, also over a restart. `allow_hosts` lets tools reach an address of this machine.
"""

import asyncio
import hashlib
import hmac
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import Request, urlopen

from roomful.testing import open_house

os.environ["PRINTER_SECRET"] = SECRET = "known to both"
SCRIPT = """
turns:
  - steps:
      - calls: [{tool: print, args: {title: Annual report}}]
      - text: "The printer says: {{result}}"
"""


class Printer(BaseHTTPRequestHandler):
    """The service, wherever it is and whatever it is written in."""

    orders = []

    def do_POST(self) -> None:
        given, body = self.headers, self.rfile.read(int(self.headers["Content-Length"]))
        signed = f"{given['X-Roomful-Id']}.{given['X-Roomful-Timestamp']}.".encode() + body
        right = "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        is_right = hmac.compare_digest(right, given["X-Roomful-Signature"])
        if is_right:
            self.orders.append(json.loads(body))
        self.send_response(202 if is_right else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def finish(order: dict) -> None:
    body = json.dumps({"result": {"pages": 12}}).encode()
    urlopen(Request(order["callbackUrl"], body, {"Content-Type": "application/json"})).close()


async def main(service: str) -> None:
    execution = {"url": f"http://{service}/orders", "secret": "${env.PRINTER_SECRET}"}
    tool = {"name": "print", "description": "Print.", "executionType": "external", "execution": execution}
    office = {"id": "office", "name": "Office", "model": "scripted:office", "speaks": "text", "tools": [tool]}
    async with (
        open_house(
            agents=[office],
            scripts={"office": SCRIPT},
            spaces={"team": ["ada", "office"]},
            allow_hosts=service,
            tool_env="PRINTER_SECRET",
            port=0,
        ) as house,
        house.gateway.served(),
    ):
        said = await house.say("ada", "team", "Print the report, please")
        [order] = Printer.orders
        print("the printer has:", order["tool"], order["input"])
        print("the run:", said.runs[0].status)
        await asyncio.to_thread(finish, order)
        await house.rest()
        print((await house.messages("team", by="ada"))[-1].text)


if __name__ == "__main__":
    with HTTPServer(("127.0.0.1", 0), Printer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asyncio.run(main(f"127.0.0.1:{server.server_port}"))
