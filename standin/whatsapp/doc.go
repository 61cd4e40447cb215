// Package whatsapp is a strict local imitation of the WhatsApp Cloud API (Graph v26.0), for tests, for the demo, and
// for any bot in any language. It serves one business number: messages, media, and webhooks that are posted to a
// callback URL. It lets programs play the people, and remembers everything that a person saw and when.
//
// It is written from the platform's documentation alone and shares no code with the adapter, so that a wrong reading
// of the platform can't be in both.
//
// # In Go
//
//	s := whatsapp.New(whatsapp.Options{Latency: 60 * time.Millisecond})
//	defer s.Close()
//	go s.Serve(memnet.Listen()) // or a real listener
//	err := s.SetCallback(ctx, "http://127.0.0.1:8645/whatsapp") // makes the handshake
//	s.Fault(whatsapp.Fault{Method: "sendMessage", Every: 5, Action: fault.Error, Code: whatsapp.CodeGeneric})
//	s.Fault(whatsapp.Fault{Method: "message", Nth: 2, Action: whatsapp.ActDuplicate})
//	id, err := s.Say(whatsapp.Incoming{Text: "hello"})
//	seen := s.Screen("", time.Now()).Messages // the conversation with DefaultUser as it is on the screen
//	bad := s.Stats().Violations.Total() + s.Stats().EditAttempts
//
// Time is only asked of package time, and all waits are on channels, so that all of it runs in virtual time inside a
// testing/synctest bubble.
//
// # Where things are
//
// A client's API URL is the address itself; paths begin with /v26.0/ or another version. People have a business-scoped
// user id, CC.<letters and digits>, and a phone number, which HidePhone keeps out of webhooks. They exist from when
// they are first named, by either: the person US.15551234567 has the phone number 15551234567. Calls have these names,
// for faults and in the records:
//
//	sendMessage markRead uploadMedia getMedia deleteMedia download getPhoneNumber
//	edit       any attempt to change or delete a message, which is always refused
//	unknown    a path that does not exist
//
// Webhooks have the names message and status.
//
// # What is enforced
//
// The access token; parameters, of which unknown ones are errors; the length of texts (4,096), captions, buttons;
// types and sizes of media, and how long their ids and links are valid; the 24 hours in which the business may answer
// (131047); messages per second (130429) and per person (131056). Errors look like Graph's. Calls beyond a limit are
// violations, which Stats counts with details, like attempts to edit, and replies to messages that are not in the
// conversation; a client that behaves has none. Lengths count UTF-16 units.
//
// Webhooks are signed. One that is not answered with status 200 within 10 seconds comes again, at once and then with
// growing waits for 7 days. Webhooks about one person come in order, unless one has to be repeated or a fault delays
// it. With Options.BatchWindow, webhooks share requests: several entries, changes and messages.
//
// Numbers that the platform keeps to itself are assumptions, marked so where they are.
//
// # What is not
//
// Other numbers and accounts, the headers that tell how much of a limit is used, templates, lists, flows, location and contacts from the business, groups, calls. Media
// that are sent by link are not fetched. Statuses come at once; "played" never comes. Videos and audio are not looked
// into. While an outage or a restart lasts, webhooks are still posted.
//
// # Control over HTTP
//
// Beside the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events) there are
// those below. Who is left out as the user is DefaultUser; a phone number does, too.
//
//	POST   /control/say           {"user":"US.7","text":"hello"} → {"message":"wamid.…"}
//	                              fields: Incoming; files' content is base64
//	POST   /control/press         {"user":"US.7","message":"wamid.…","button":"Yes"} → {"message":"wamid.…"}; id or title
//	POST   /control/react         {"user":"US.7","message":"wamid.…","emoji":"👍"}    "" takes it back
//	POST   /control/edit          {"user":"US.7","message":"wamid.…","text":"hi"}     a person edits
//	POST   /control/delete        {"user":"US.7","message":"wamid.…"}                 a person deletes for everybody
//	POST   /control/read          {"user":"US.7"}                                     a person looks at the conversation
//	POST   /control/person        {"user_id":"US.7","hide_phone":true,"username":"@ann"}   fields: Person
//	POST   /control/change_number {"user":"US.7","phone":"15557654321","user_id":"US.8"}
//	POST   /control/redeliver     {} → {"webhooks":1}               tries at once what waits to be tried again
//	POST   /control/callback      {"url":"http://…"}                makes the handshake; "" loses all webhooks
//	POST   /control/verify        {"url":"http://…","token":"…"}    only the handshake, by default with the right token
//	POST   /control/expire_token  {}                                "off":true takes it back
//	POST   /control/limits        {"published":{"per_second":10},"hidden":{"pair_burst":5},"off":false}
//	                              fields: Limits; hidden ones are enforced without being violations
//	GET    /control/info          the ids, and the server's clock
//	GET    /control/persons
//	GET    /control/history       ?user=US.7                        Chronicle
//	GET    /control/text          ?user=US.7                        what a person reads now: [{"from":"…","text":"…"}]
//	GET    /control/view          ?user=US.7&at=2026-01-02T15:04:05.5Z   Screen; at may be milliseconds
//	GET    /control/file          ?id=1…                            the content of a file
//	GET    /control/deliveries    ?last=20                          list of Delivery
package whatsapp
