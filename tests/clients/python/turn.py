"""A turn through the client that is generated from the OpenAPI document."""

import sys

from runloom_client import Client
from runloom_client.api.runs import create_and_wait_run
from runloom_client.api.store import get_item, put_item
from runloom_client.api.threads import create_thread, get_thread
from runloom_client.models import RunCreate, StorePutRequest, StorePutRequestValue, ThreadCreate

client = Client(base_url=sys.argv[1])

thread = create_thread.sync(client=client, body=ThreadCreate())
run = RunCreate(thread_id=thread.thread_id, agent_id="echo", input_="hello")
finished = create_and_wait_run.sync(client=client, body=run)
assert finished.run.status == "success", finished
assert finished.messages[-1].content == "echo: hello", finished
thread = get_thread.sync(client=client, thread_id=thread.thread_id)
assert thread.status == "idle" and len(thread.messages) == 2, thread

value = StorePutRequestValue.from_dict({"likes": "tea"})
item = StorePutRequest(namespace=["people"], key="jane", value=value)
assert put_item.sync_detailed(client=client, body=item).status_code == 204
found = get_item.sync(client=client, key="jane", namespace=["people"])
assert found.value["likes"] == "tea", found
