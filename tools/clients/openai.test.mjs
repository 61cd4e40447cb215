// Tests with the official openai package against the built daemon.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { key, start } from "./telex.mjs";

let telex, client;
before(async () => {
  telex = await start();
  client = new OpenAI({ baseURL: telex.baseURL, apiKey: key, maxRetries: 0 });
});
after(() => telex.end());

const question = "Explain the tides";
const asks = (content) => [{ role: "user", content }];
const weather = {
  type: "function",
  function: { name: "weather", description: "The weather of a city.", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
};

test("models", async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.deepEqual(names, ["main", "second"]);
  assert.equal((await client.models.retrieve("second")).id, "second");
});

test("chat completion", async () => {
  const c = await client.chat.completions.create({ model: "main", messages: asks(question) });
  assert.equal(c.choices[0].message.content, await telex.answer(question));
  assert.equal(c.choices[0].finish_reason, "stop");
  assert.ok(c.usage.total_tokens === c.usage.prompt_tokens + c.usage.completion_tokens && c.usage.completion_tokens > 0);
});

test("chat completion stream, with its helper", async () => {
  const stream = client.chat.completions.stream({ model: "main", messages: asks(question), stream_options: { include_usage: true } });
  let deltas = 0;
  stream.on("content", () => deltas++);
  const c = await stream.finalChatCompletion();
  assert.equal(c.choices[0].message.content, await telex.answer(question));
  assert.ok(deltas > 20, `${deltas} deltas`);
  assert.ok((await stream.totalUsage()).completion_tokens > 0);
});

test("tools are passed through, streamed and not, and their results", async () => {
  const messages = asks('call: weather {"city":"Rome"}');
  const whole = await client.chat.completions.create({ model: "main", messages, tools: [weather] });
  const stream = client.chat.completions.stream({ model: "main", messages, tools: [weather] });
  for (const c of [whole, await stream.finalChatCompletion()]) {
    assert.equal(c.choices[0].finish_reason, "tool_calls");
    const [call] = c.choices[0].message.tool_calls;
    assert.deepEqual([call.type, call.function.name, JSON.parse(call.function.arguments)], ["function", "weather", { city: "Rome" }]);
    const next = await client.chat.completions.create({
      model: "main", tools: [weather], messages: [...messages, c.choices[0].message, { role: "tool", tool_call_id: call.id, content: "rain" }],
    });
    assert.match(next.choices[0].message.content, /weather: rain/);
  }
});

test("the helper runs tools, streamed and not", async () => {
  for (const stream of [false, true]) {
    const runner = client.chat.completions.runTools({
      model: "main", stream, messages: asks('call: weather {"city":"Oslo"}'),
      tools: [{ type: "function", function: { ...weather.function, parse: JSON.parse, function: ({ city }) => `snow in ${city}` } }],
    });
    assert.match(await runner.finalContent(), /snow in Oslo/);
  }
});

test("structured outputs, by both APIs, streamed and not", async () => {
  const city = z.object({ city: z.string() }), messages = asks('say: {"city":"Rome"}');
  const chat = { model: "main", messages, response_format: zodResponseFormat(city, "city") };
  const responses = { model: "main", input: messages, text: { format: zodTextFormat(city, "city") } };
  for (const got of [
    (await client.chat.completions.parse(chat)).choices[0].message.parsed,
    (await client.chat.completions.stream(chat).finalChatCompletion()).choices[0].message.parsed,
    (await client.responses.parse(responses)).output_parsed,
    (await client.responses.stream(responses).finalResponse()).output_parsed,
  ]) assert.deepEqual(got, { city: "Rome" });
});

test("a limit cuts the answer, and says so", async () => {
  const c = await client.chat.completions.stream({ model: "main", messages: asks("words: 300"), max_tokens: 5 }).finalChatCompletion();
  assert.equal(c.choices[0].finish_reason, "length");
  const r = await client.responses.stream({ model: "main", input: "words: 300", max_output_tokens: 5 }).finalResponse();
  assert.deepEqual([r.status, r.incomplete_details.reason, r.output[0].status], ["incomplete", "max_output_tokens", "incomplete"]);
});

test("the system message of a first request holds in the next one", async () => {
  const first = await client.responses.create({ model: "main", input: [{ role: "system", content: "You are Bob" }, ...asks("say: one")], instructions: "Once" });
  await client.responses.create({ model: "main", input: "say: two", previous_response_id: first.id });
  const { messages } = (await telex.requests()).at(-1).body;
  assert.match(messages[0].content, /You are Bob/);
  assert.doesNotMatch(messages[0].content, /Once/);
});

test("responses", async () => {
  const r = await client.responses.create({ model: "main", input: question });
  assert.equal(r.output_text, await telex.answer(question));
  assert.ok(r.usage.total_tokens > 0);
  assert.equal((await client.responses.retrieve(r.id)).output_text, r.output_text);
  const next = await client.responses.create({ model: "main", input: "recall: 1", previous_response_id: r.id });
  assert.equal(next.output_text, question);
  await client.responses.delete(r.id);
  await assert.rejects(client.responses.retrieve(r.id), (e) => e instanceof OpenAI.NotFoundError);
});

test("responses stream, with its helper", async () => {
  const stream = client.responses.stream({ model: "main", input: `{{standin think="Let me think about it"}} ${question}`, reasoning: { summary: "auto" } });
  const types = new Set();
  let text = "";
  for await (const event of stream) {
    types.add(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  const r = await stream.finalResponse();
  const want = await telex.answer(question);
  assert.equal(text, want);
  assert.equal(r.output_text, want);
  assert.deepEqual(r.output.map((item) => item.type), ["reasoning", "message"]);
  assert.ok(types.has("response.reasoning_summary_text.delta"));
});

test("responses pass tools through", async () => {
  const tool = { type: "function", name: "weather", parameters: weather.function.parameters, strict: false };
  const input = asks('call: weather {"city":"Rome"}');
  const stream = client.responses.stream({ model: "main", input, tools: [tool] });
  const r = await stream.finalResponse();
  const [call] = r.output;
  assert.deepEqual([call.type, call.name, JSON.parse(call.arguments)], ["function_call", "weather", { city: "Rome" }]);
  const next = await client.responses.create({
    model: "main", tools: [tool], previous_response_id: r.id, input: [{ type: "function_call_output", call_id: call.call_id, output: "rain" }],
  });
  assert.match(next.output_text, /weather: rain/);
});

test("reasoning", async () => {
  const stream = await client.chat.completions.create({ model: "main", stream: true, messages: asks('{{standin think="Let me think"}} say: done') });
  let reasoning = "", content = "";
  for await (const chunk of stream) {
    reasoning += chunk.choices[0]?.delta?.reasoning_content ?? "";
    content += chunk.choices[0]?.delta?.content ?? "";
  }
  assert.deepEqual([reasoning, content], ["Let me think", "done"]);
});

test("errors", async () => {
  const ask = (model, content, more = {}) => client.chat.completions.create({ model, messages: asks(content), ...more });
  await assert.rejects(ask("main", "hi", { temperature: 9 }), (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature");
  await assert.rejects(ask("none", "hi"), (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
  await assert.rejects(ask("main", "{{standin status=429 code=insufficient_quota}} hi"), (e) => e instanceof OpenAI.RateLimitError && e.code === "insufficient_quota");
  const stranger = new OpenAI({ baseURL: telex.baseURL, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), (e) => e instanceof OpenAI.AuthenticationError);
  const poor = new OpenAI({ baseURL: telex.baseURL, apiKey: `${key}-poor`, maxRetries: 0 });
  await poor.chat.completions.create({ model: "main", messages: asks("say: one") });
  await assert.rejects(poor.chat.completions.create({ model: "main", messages: asks("say: two") }), (e) => e instanceof OpenAI.RateLimitError && Number(e.headers.get("retry-after")) > 0);
});

test("an answer that breaks off is an error", async () => {
  const broken = () => client.chat.completions.create({ model: "main", stream: true, messages: asks(`{{standin cut=30}} ${question}`) });
  await assert.rejects(async () => { for await (const _ of await broken()); }, OpenAI.APIError);
  await assert.rejects(async () => { for await (const _ of client.responses.stream({ model: "main", input: `{{standin cut=30}} ${question}` })); }, OpenAI.APIError);
});

test("an aborted stream ends the model's within 200 ms", async () => {
  for (const open of [
    () => client.chat.completions.create({ model: "main", stream: true, messages: asks(`{{standin rate=50}} words: 3000`) }),
    () => client.responses.create({ model: "main", stream: true, input: `{{standin rate=50}} words: 3000` }),
  ]) {
    const before = (await telex.requests()).length;
    const stream = await open();
    let seen = 0, left;
    for await (const _ of stream) {
      if (++seen === 20) {
        left = Date.now();
        break; // leaving the loop aborts the request
      }
    }
    let record;
    for (const until = Date.now() + 10_000; Date.now() < until; await new Promise((r) => setTimeout(r, 20))) {
      record = (await telex.requests())[before];
      if (record?.ended) break;
    }
    const took = Date.parse(record.ended) - left;
    assert.equal(record.end, "client_closed");
    assert.ok(took <= 200, `the model's stream ended ${took} ms after the client left`);
  }
});

test("50 streams at once, byte for byte", async () => {
  const questions = Array.from({ length: 50 }, (_, i) => (i % 2 ? `words: ${150 + i}` : `Explain the number ${i}`));
  const texts = await Promise.all(questions.map(async (content, i) => {
    let text = "";
    if (i % 3 === 0) {
      for await (const e of await client.responses.create({ model: "main", stream: true, store: false, input: content })) {
        if (e.type === "response.output_text.delta") text += e.delta;
      }
      return text;
    }
    for await (const chunk of await client.chat.completions.create({ model: "main", stream: true, messages: asks(content) })) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    return text;
  }));
  for (const [i, content] of questions.entries()) assert.equal(texts[i], await telex.answer(content), content);
});
