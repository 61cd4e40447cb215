// Package discord is a strict local imitation of Discord, for tests, for the demo, and for any bot in any
// language. It serves one bot: the REST API at /api/v10, the gateway at the WebSocket address that GET
// /gateway tells, and the files of messages. It lets programs play the people, and remembers everything that
// a person saw and when.
//
// It is written from the platform's documentation alone and shares no code with the adapter, so that a wrong
// reading of the platform can't be in both.
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
// It takes the time only from package time, so it runs in virtual time inside a testing/synctest bubble.
// There, the clock is before the platform's epoch; ids look then as if the server had begun in 2026.
//
// # What there is
//
// From the start the bot is in DefaultGuild with DefaultChannel and DefaultRole, and DefaultPerson is around.
// People, channels and guilds of any id come into being with what is said in them; a DM has an id of its own,
// which DM tells. Calls have these names, for faults and in the records:
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
// Tokens; the rules for texts (2,000 code points, trimmed), embeds, components, files, nonces, mentions and
// references, with the platform's nested errors; permissions, archived threads and closed DMs; buckets by
// route and channel with their headers, the global limit, the limit of edits of old messages, the ban for
// 10,000 invalid requests; the 3 s and 15 min of interactions; on the gateway intents (the text of messages is
// empty where the bot may not know it), heartbeats, sizes, rates, session starts, resumes with replay. What is
// answered 429 closes its bucket until retry_after is over, and calls in it are answered 429 as well. Both are
// violations, which Stats counts with details, as are interactions that got no answer and whatever the
// gateway closes a connection for; a client that behaves has none. Numbers that the platform keeps to itself
// are assumptions, marked so in Limits and Options.
//
// Not there: voice, polls, stickers, reactions, modals beyond their opening, autocomplete, webhooks of
// people, interactions over HTTP, ETF and zstd on the gateway.
//
// # Control over HTTP
//
// Beside the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events) there
// are those below. Ids are strings; a user that is left out is DefaultPerson.
//
//	POST   /control/say            {"channel":"…","user":"…","text":"hello"}   → {"channel":"…","message":"…"}
//	                               fields: Incoming; without channel in the DM; content of files is base64
//	POST   /control/slash          {"channel":"…","name":"ask","options":{"question":"why"}} → {"interaction":"…"}
//	POST   /control/about          {"channel":"…","message":"…","name":"Ask about this"} → {"interaction":"…"}: a command of its menu
//	POST   /control/press          {"channel":"…","message":"…","custom_id":"Stop"} → {"interaction":"…"}; its label does too
//	POST   /control/thread         {"channel":"…","message":"…","name":"a thread"} → {"channel":"…"}
//	POST   /control/archive        {"channel":"…","archived":true,"locked":false}
//	POST   /control/delete         {"channel":"…","message":"…"}               a person deletes a message; "messages" deletes several at once
//	POST   /control/content        {"content":true}                            the switch of the privileged intent for the text of messages
//	POST   /control/delete_channel {"channel":"…"}
//	POST   /control/block          {"user":"…","blocked":true}                 their DM takes no messages of the bot
//	POST   /control/kick           {"guild":"…"}                               the bot; invite puts it in again
//	POST   /control/invite         {"guild":"…"}
//	POST   /control/permit         {"channel":"…","access":{"read_only":true}} fields: Access
//	POST   /control/role           {"role":"…"}                                a role that can be mentioned
//	POST   /control/gateway        {"kind":"drop"}                             fields: Disturbance → {"connections":1}
//	POST   /control/limits         {"published":{"messages":10},"hidden":{"global":5},"off":false}
//	                               fields: Limits; hidden ones are enforced without being violations
//	GET    /control/info           the bot, the default ids, and the server's clock
//	GET    /control/channels
//	GET    /control/dm             ?user=…                                     → {"channel":"…"}
//	GET    /control/history        ?channel=…                                  ChannelHistory
//	GET    /control/text           ?channel=…                      what a person reads now: [{"from":"…","text":"…"}]; "only_for" if one person sees it
//	GET    /control/view           ?channel=…&at=2026-01-02T15:04:05.5Z        Screen; at may be milliseconds
//	GET    /control/file           ?id=…                                       the content of an attachment
//	GET    /control/interactions                                               list of Interaction
//	GET    /control/commands       ?guild=…                                    list of Command; without guild the global ones
package discord
