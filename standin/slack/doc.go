// Package slack is a strict local imitation of Slack, for tests, for the demo, and for any bot in any language. The
// server serves one app in one workspace: the Web API, Socket Mode, and events that it posts to a request URL. Tests
// can write messages and press buttons as people. The package records what people saw, and when.
//
// This package was written only from Slack's documentation, and shares no code with telex's Slack adapter. Therefore it
// is unlikely that the stand-in and the adapter contain the same mistake about Slack.
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
// The only source of time is package time, and all waits are on channels. The server, including its sockets, can
// therefore run in virtual time inside a testing/synctest bubble.
//
// # Where things are
//
// Clients use the API URL <address>/api/ and the token Options.BotToken. With the token Options.AppToken, a call of
// apps.connections.open returns a ws URL that is valid for one socket. The ids of people begin with U. If U7 is a
// person, D7 is the direct message with that person. An id C… belongs to a public channel, and an id G… to a group
// message, unless SetChannel sets another kind. Only SetChannel creates private channels. The server creates a person
// or a channel when its id is first used. The bot is a member of every channel until RemoveBot or SetChannel removes
// it.
//
// # What is enforced
//
// The stand-in checks that each call has the right kind of token with the right scopes. The stand-in enforces Slack's
// tiers, which limit each method, and a limit on chat.postMessage per channel. A call that exceeds a limit gets 429
// with Retry-After, and so does each further call to which the limit applies, until this time is over. Stats counts and
// describes all of these calls as violations. Late acknowledgements, texts that had to be cut, and the ts of a reply as
// thread_ts are also violations. A correct client causes no violations.
//
// Lengths count UTF-16 units of the text as it was sent. The maximum length of a text is 4,000 for an update, 12,000
// for Markdown and 40,000 for a post. The stand-in cuts a longer post and adds a warning to the response. The stand-in
// validates the kinds of blocks that chat bots use. A message can stream for five minutes. After five minutes, the
// message looks broken until an update repairs it.
//
// If the app does not acknowledge an event within three seconds, the stand-in delivers the event again at once, after
// one minute, and after five minutes. The stand-in delivers a command or the press of a button only once. A mention in
// a channel causes two events with the same ts. The app also receives events about its own messages. Version.Mentions
// lists the users whom a message mentions. Every control sequence counts as a mention, even in code and in Markdown.
//
// People talk with an app in the app's pane. The pane of an assistant (assistant_view) has threads, each with a title
// and suggested prompts. The pane of an agent (Options.Agent) shows suggested prompts only above its Messages tab, and
// ignores prompts for a thread. While an app streams or shows a status, the session of the thread has the status
// "processing", and a person can stop the session. The session stays in this state until the app ends the stream or
// sets an empty status.
//
// # What is missing
//
// The stand-in has only one workspace. The stand-in does not support chat.postEphemeral, views, reactions,
// agents.sessions.*, the end of a session after an hour, links in plain texts, and app_rate_limited. The stand-in sends
// events even if the app lacks the scope for them. A person can forward messages only within a channel. client_msg_id
// is not an idempotency key, because no documentation calls it one. During an outage or a restart, the stand-in still
// posts events to a request URL.
//
// # Control over HTTP
//
// Besides the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events), the
// stand-in has these:
//
//	POST   /control/say           {"channel":"C1","user":"U7","text":"<@U0STANDIN> hello"} → {"channel":"C1","ts":"…"}
//	                              fields: Incoming; the content of files is base64
//	POST   /control/edit          {"channel":"C1","ts":"…","text":"hi"}   a person edits
//	POST   /control/delete        {"channel":"C1","ts":"…"}               a person deletes
//	POST   /control/press         {"channel":"C1","ts":"…","button":"Stop"} → {"id":1}; button is an action_id, a value or a text
//	POST   /control/command       {"channel":"C1","command":"/ask","text":"why"} → {"id":1}
//	POST   /control/assistant     {"user":"U7"}                           → {"thread_ts":"…"}; a person opens the assistant's pane
//	POST   /control/home          {"user":"U7"}                           a person opens the Messages tab
//	POST   /control/prompt        {"user":"U7","ts":"…","button":"Ideas"} → {"ts":"…"}; a person presses a prompt in the thread of ts
//	POST   /control/context       {"user":"U7","ts":"…","channel":"C1"}   a person views another channel beside the assistant's thread of ts
//	POST   /control/stop          {"channel":"D7","ts":"…"}               a person stops the session of a thread
//	POST   /control/user          {"id":"U7","name":"ann"}                fields: User
//	POST   /control/channel       {"id":"G9","kind":"private","name":"x"} fields: Channel
//	POST   /control/archive       {"channel":"C1"}                        "off":true opens the channel again
//	POST   /control/remove_bot    {"channel":"C1"}
//	POST   /control/add_bot       {"channel":"C1"}
//	POST   /control/revoke        {}                                      uninstalls the app; "off":true installs it again
//	POST   /control/request_url   {"url":"http://…"}                      events go to this URL; "" is Socket Mode
//	POST   /control/disconnect    {"reason":"refresh_requested","grace_ms":10000}
//	POST   /control/cut_sockets   {}                                      → {"sockets":1}
//	POST   /control/stall_sockets {}                                      makes sockets half-open: only the client can notice it
//	POST   /control/limits        {"published":{"tier3":10},"hidden":{"methods":{"chat.update":5}},"off":false}
//	                              fields: Limits; a call beyond a hidden limit gets 429 and is no violation
//	GET    /control/info          the ids, and the server's clock
//	GET    /control/channels
//	GET    /control/history       ?channel=C1                             ChannelHistory
//	GET    /control/text          ?channel=C1                      what a person reads now: [{"from":"…","text":"…"}]
//	GET    /control/view          ?channel=C1&at=2026-01-02T15:04:05.5Z   Screen; at may be milliseconds
//	GET    /control/file          ?id=F1                                  the content of a file
//	GET    /control/deliveries    ?last=20                                list of Delivery
//	GET    /control/commands      list of CommandRun
package slack
