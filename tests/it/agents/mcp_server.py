"""An MCP server over standard streams with one tool; the weather in `doom` kills it."""
import json
import os
import signal
import sys

TOOL = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "inputSchema": {
        "type": "object",
        "properties": {"location": {"type": "string", "maxLength": 12}},
        "required": ["location"],
    },
}

for line in sys.stdin:
    request = json.loads(line)
    method, params = request.get("method"), request.get("params", {})
    if "id" not in request:
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if method == "initialize":
        reply["result"] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "weather", "version": "1"},
        }
    elif method == "tools/list":
        reply["result"] = {"tools": [TOOL]}
    elif method == "tools/call":
        place = params["arguments"]["location"]
        if place == "doom":
            os.kill(os.getpid(), signal.SIGKILL)
        text = f"{place} is {os.environ.get('MOOD', 'dull')} for {os.environ.get('OPENAI_API_KEY')}."
        reply["result"] = {"content": [{"type": "text", "text": text}], "isError": place == "nowhere"}
    else:
        reply["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(reply), flush=True)
