// Package discord is a strict local imitation of Discord, for tests, for the demo, and for any bot in any language. The
// server serves one bot: the REST API at /api/v10, the gateway at the WebSocket address that GET /gateway returns, and
// the files of messages. Tests can write messages and press buttons as people. The package records what people saw, and
// when.
//
// This package was written only from Discord's documentation, and shares no code with telex's Discord adapter.
// Therefore it is unlikely that the stand-in and the adapter contain the same mistake about Discord.
//
// # In Go
//
//	s := discord.New(discord.Options{Latency: 60 * time.Millisecond})
//	defer s.Close()
//	go s.Serve(memnet.Listen()) // or a real listener
//	s.Fault(discord.Fault{Method: "editMessage", Every: 5, Action: fault.RateLimit, RetryAfter: 2})
//	s.Gateway(discord.Disturbance{Kind: discord.GatewayDrop})
//	id, err := s.Say(discord.Incoming{Channel: discord.DefaultChannel, Text: s.Mention() + " hello"})
//	seen := s.Screen(discord.DefaultChannel, time.Now()) // messages, typing, interactions that failed
//	bad := s.Stats().Violations.Total()
//
// The only source of time is package time, so the server runs in virtual time inside a testing/synctest bubble. The
// clock of a bubble starts before Discord's epoch. In a bubble, the server therefore creates ids as if it had started
// in 2026.
//
// # People, channels and calls
//
// At the start, the bot is a member of DefaultGuild, which has DefaultChannel, DefaultRole and DefaultPerson. People,
// channels and guilds are created when their ids are first used in a message. The method DM returns the id of a DM. In
// faults and records, the calls of the API have these names:
//
//	getGateway getGatewayBot getMe getUser getApplication getGuilds getGuild getGuildChannels getActiveThreads
//	createDM getChannel editChannel typing startThread startThreadFrom
//	getMessages getMessage createMessage editMessage deleteMessage deleteMessages
//	callback followUp getOwn editOwn deleteOwn                    interactions: /webhooks/{app}/{token}/…
//	getCommands createCommand overwriteCommands getCommand editCommand deleteCommand
//	attachment                                                    the download of a file
//	gateway                                                       a connection to the gateway
//
// # What is enforced
//
// The stand-in checks tokens, permissions, archived threads and closed DMs. The stand-in checks texts (2,000 code
// points after trimming), embeds, components, files, nonces, mentions and references, and returns errors in Discord's
// nested form. The stand-in enforces the rate limit of each bucket (a route and a channel) and sends Discord's headers
// about this limit. The stand-in also enforces the global limit, the limit on edits of old messages, and the ban after
// 10,000 invalid requests. An interaction needs a response within 3 s, and its token is valid for 15 min. On the
// gateway, the stand-in enforces heartbeats, intents, and the limits on sizes, rates and session starts. Without the
// privileged message content intent, the bot receives most messages without their text. When a client resumes a
// session, the gateway sends the missed events again.
//
// A call that exceeds a limit gets a 429, and so does each further call in the same bucket until retry_after is over.
// Stats counts and describes all of these calls as violations. An interaction without a response is also a violation,
// and so is an error for which the gateway closes a connection. A correct client causes no violations. Numbers that
// Discord does not publish are assumptions. The comments on Limits and Options mark these numbers as assumptions.
//
// The stand-in does not support voice, polls, stickers, reactions, modals beyond opening them, autocomplete, webhooks
// of people, interactions over HTTP, and ETF and zstd on the gateway.
//
// # Control over HTTP
//
// Besides the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events), the
// stand-in has the following controls. Ids are strings. If a request names no user, DefaultPerson acts.
//
//	POST   /control/say            {"channel":"…","user":"…","text":"hello"}   → {"channel":"…","message":"…"}
//	                               fields: Incoming; without channel, in the person's DM; files have their content in base64
//	POST   /control/slash          {"channel":"…","name":"ask","options":{"question":"why"}} → {"interaction":"…"}
//	POST   /control/about          {"channel":"…","message":"…","name":"Ask about this"} → {"interaction":"…"}: a command in the message's menu
//	POST   /control/press          {"channel":"…","message":"…","custom_id":"Stop"} → {"interaction":"…"}; instead of custom_id, the label works too
//	POST   /control/thread         {"channel":"…","message":"…","name":"a thread"} → {"channel":"…"}
//	POST   /control/archive        {"channel":"…","archived":true,"locked":false}
//	POST   /control/delete         {"channel":"…","message":"…"}               a person deletes a message; "messages" deletes several at once
//	POST   /control/content        {"content":true}                            enables or disables the intent for message texts
//	POST   /control/delete_channel {"channel":"…"}
//	POST   /control/block          {"user":"…","blocked":true}                 the person's DM refuses the bot's messages
//	POST   /control/kick           {"guild":"…"}                               removes the bot; invite adds it again
//	POST   /control/invite         {"guild":"…"}
//	POST   /control/permit         {"channel":"…","access":{"read_only":true}} fields: Access
//	POST   /control/role           {"role":"…"}                                a role that can be mentioned
//	POST   /control/gateway        {"kind":"drop"}                             fields: Disturbance → {"connections":1}
//	POST   /control/limits         {"published":{"messages":10},"hidden":{"global":5},"off":false}
//	                               fields: Limits; a call beyond a hidden limit gets 429 and is no violation
//	GET    /control/info           the bot, the default ids, and the server's clock
//	GET    /control/channels
//	GET    /control/dm             ?user=…                                     → {"channel":"…"}
//	GET    /control/history        ?channel=…                                  ChannelHistory
//	GET    /control/text           ?channel=…                      what a person reads now: [{"from":"…","text":"…"}]; "only_for" if only one person sees it
//	GET    /control/view           ?channel=…&at=2026-01-02T15:04:05.5Z        Screen; at may be milliseconds
//	GET    /control/file           ?id=…                                       the content of an attachment
//	GET    /control/interactions                                               list of Interaction
//	GET    /control/commands       ?guild=…                                    list of Command; without guild the global ones
package discord
