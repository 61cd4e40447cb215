// Tests of the built daemon with the AI SDK: its provider for compatible servers, and its provider for OpenAI's Responses API.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenAI } from "@ai-sdk/openai";
import { z } from "zod";
import { key, start } from "./telex.mjs";

let telex, models;
before(async () => {
  telex = await start();
  models = {
    "chat completions": createOpenAICompatible({ name: "telex", baseURL: telex.baseURL, apiKey: key, includeUsage: true })("main"),
    responses: createOpenAI({ baseURL: telex.baseURL, apiKey: key }).responses("main"),
  };
});
after(() => telex.end());

const question = "Explain the tides";

for (const api of ["chat completions", "responses"]) {
  test(`${api}: text, streamed and not`, async () => {
    const want = await telex.answer(question);
    const whole = await generateText({ model: models[api], prompt: question });
    assert.equal(whole.text, want);
    assert.ok(whole.usage.outputTokens > 0);
    const stream = streamText({ model: models[api], prompt: question });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    assert.equal(text, want);
    assert.ok((await stream.usage).outputTokens > 0);
    assert.equal(await stream.finishReason, "stop");
  });

  test(`${api}: tools in several steps`, async () => {
    const tools = { weather: tool({ description: "The weather of a city.", inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `rain in ${city}` }) };
    const result = streamText({ model: models[api], tools, stopWhen: stepCountIs(3), prompt: 'call: weather {"city":"Rome"}' });
    let text = "";
    for await (const piece of result.textStream) text += piece;
    assert.match(text, /rain in Rome/);
    assert.equal((await result.steps).length, 2);
  });

  test(`${api}: an object`, async () => {
    const { object } = await generateObject({ model: models[api], schema: z.object({ city: z.string() }), prompt: 'say: {"city":"Rome"}' });
    assert.deepEqual(object, { city: "Rome" });
  });
}

test("reasoning", async () => {
  const result = streamText({ model: models["chat completions"], prompt: '{{standin think="Let me think"}} say: done' });
  let reasoning = "";
  for await (const part of result.fullStream) if (part.type === "reasoning-delta") reasoning += part.text;
  assert.deepEqual([reasoning, await result.text], ["Let me think", "done"]);
});
