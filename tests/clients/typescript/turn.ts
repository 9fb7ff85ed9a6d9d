// A turn with the types that are generated from the OpenAPI document.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const client = createClient<paths>({ baseUrl: process.argv[2] });

const thread = await client.POST("/threads", { body: { metadata: { from: "typescript" } } });
assert(thread.data, JSON.stringify(thread.error));
const finished = await client.POST("/runs/wait", {
  body: { thread_id: thread.data.thread_id, agent_id: "echo", input: "hello" },
});
assert.equal(finished.data?.run?.status, "success");
assert.equal(finished.data?.messages?.at(-1)?.content, "echo: hello");

const missing = await client.GET("/threads/{thread_id}", {
  params: { path: { thread_id: "00000000-0000-4000-8000-000000000000" } },
});
assert.equal(missing.response.status, 404);
assert.equal(missing.error?.code, "thread_not_found");
