// Package slack is a strict local imitation of Slack, for tests, for the demo, and for
// any bot in any language. It serves one app in one workspace as the platform does: the
// Web API, Socket Mode, and events posted to a request URL. It lets programs play the
// people, and remembers everything that a person saw and when.
//
// It is written from the platform's documentation alone and shares no code with the
// adapter, so that a wrong reading of the platform can't be in both.
//
// # In Go
//
//	s := slack.New(slack.Options{Latency: 60 * time.Millisecond})
//	defer s.Close()
//	go s.Serve(memnet.Listen()) // or a real listener
//	s.Fault(slack.Fault{Method: "chat.update", Every: 5, Action: fault.RateLimit, RetryAfter: 2})
//	s.Fault(slack.Fault{Method: "event", Nth: 2, Action: slack.ActDuplicate})
//	ts := s.Say(slack.Incoming{Channel: "C1", Text: "<@" + slack.BotUser + "> hello"})
//	seen := s.Screen("C1", time.Now()).In(ts) // the thread as it is on the screen
//	bad := s.Stats().Violations.Total()
//
// Time is only asked of package time, and all waits are on channels, so that all of it
// runs in virtual time inside a testing/synctest bubble, sockets included.
//
// # Where things are
//
// A client's API URL is <address>/api/, with Options.BotToken; apps.connections.open
// with Options.AppToken answers a ws URL that is good for one socket. People are U…, and
// D… with the same rest is the direct message with one; C… is a public channel, G… a
// message of several people; SetChannel makes private ones. They exist from when they are
// first named, and the bot is in them until RemoveBot.
//
// # What is enforced
//
// Kinds of tokens and scopes; tiers per method, and chat.postMessage per channel: what
// exceeds them is answered 429 with Retry-After and closes that scope until this is over.
// Calls in a closed scope are answered 429 as well. Both are violations, which Stats counts
// with details, like late acknowledgements, texts that had to be cut, and a reply's ts as
// thread_ts; a client that behaves has none. Lengths count UTF-16 units of the text as it
// was sent. Texts: 4,000 in an update, 12,000 of Markdown, 40,000 in a post, which are cut
// with a warning. Blocks are validated as far as chat bots use them. A message streams for
// five minutes, then it is broken until an update mends it.
//
// What is not acknowledged within three seconds is delivered again at once, after a minute
// and after five; commands and buttons are not. A mention in a channel is two events with
// one ts, and the app hears of its own messages too. Version.Mentions says whom a message
// calls; all control sequences do, those in code and in Markdown too.
//
// An app has a pane: assistants (assistant_view) have threads with a title and with prompts
// of their own, agents (Options.Agent) have prompts above their Messages tab, and ignore
// prompts for a thread. While an app streams or shows a status, the thread's session is
// processing and can be stopped; only the app makes it active again, by the end of a
// stream or by an empty status.
//
// # What is not
//
// Workspaces besides the one, chat.postEphemeral, views, reactions, agents.sessions.*, the end of
// a session after an hour, links found in texts, and app_rate_limited. Events are told whatever the scopes.
// Forwarded messages come from the same channel. client_msg_id is no idempotency key; nothing documents one. While an outage or a restart
// lasts, events are still posted to a request URL.
//
// # Control over HTTP
//
// Beside the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events) there are:
//
//	POST   /control/say           {"channel":"C1","user":"U7","text":"<@U0STANDIN> hello"} → {"channel":"C1","ts":"…"}
//	                              fields: Incoming; files' content is base64
//	POST   /control/edit          {"channel":"C1","ts":"…","text":"hi"}   a person edits
//	POST   /control/delete        {"channel":"C1","ts":"…"}               a person deletes
//	POST   /control/press         {"channel":"C1","ts":"…","button":"Stop"} → {"id":1}; action_id, value or text
//	POST   /control/command       {"channel":"C1","command":"/ask","text":"why"} → {"id":1}
//	POST   /control/assistant     {"user":"U7"}                           → {"thread_ts":"…"}; a person opens the assistant's pane
//	POST   /control/home          {"user":"U7"}                           a person opens the Messages tab
//	POST   /control/prompt        {"user":"U7","ts":"…","button":"Ideas"} → {"ts":"…"}; a person presses a prompt, in the thread of ts
//	POST   /control/context       {"user":"U7","ts":"…","channel":"C1"}   a person views another channel beside the assistant's thread of ts
//	POST   /control/stop          {"channel":"D7","ts":"…"}               a person stops the session of a thread
//	POST   /control/user          {"id":"U7","name":"ann"}                fields: User
//	POST   /control/channel       {"id":"G9","kind":"private","name":"x"} fields: Channel
//	POST   /control/archive       {"channel":"C1"}                        "off":true takes it back
//	POST   /control/remove_bot    {"channel":"C1"}
//	POST   /control/add_bot       {"channel":"C1"}
//	POST   /control/revoke        {}                                      uninstalls the app; "off":true takes it back
//	POST   /control/request_url   {"url":"http://…"}                      events by HTTP; "" is Socket Mode
//	POST   /control/disconnect    {"reason":"refresh_requested","grace_ms":10000}
//	POST   /control/cut_sockets   {}                                      → {"sockets":1}
//	POST   /control/stall_sockets {}                                      half-open: only the client can notice
//	POST   /control/limits        {"published":{"tier3":10},"hidden":{"methods":{"chat.update":5}},"off":false}
//	                              fields: Limits; hidden ones are enforced without being violations
//	GET    /control/info          the ids, and the server's clock
//	GET    /control/channels
//	GET    /control/history       ?channel=C1                             ChannelHistory
//	GET    /control/text          ?channel=C1                      what a person reads now: [{"from":"…","text":"…"}]
//	GET    /control/view          ?channel=C1&at=2026-01-02T15:04:05.5Z   Screen; at may be milliseconds
//	GET    /control/file          ?id=F1                                  the content of a file
//	GET    /control/deliveries    ?last=20                                list of Delivery
//	GET    /control/commands      list of CommandRun
package slack
