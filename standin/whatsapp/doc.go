// Package whatsapp is a strict local imitation of the WhatsApp Cloud API (Graph v26.0), for tests, for the demo, and
// for any bot in any language. The server serves one business number: messages, media, and webhooks that it posts to a
// callback URL. Tests can write messages and press buttons as people. The package records what people saw, and when.
//
// This package was written only from WhatsApp's documentation, and shares no code with telex's WhatsApp adapter.
// Therefore it is unlikely that the stand-in and the adapter contain the same mistake about WhatsApp.
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
// The only source of time is package time, and all waits are on channels. The server can therefore run in virtual time
// inside a testing/synctest bubble.
//
// # Where things are
//
// Clients use the server's address as the API URL; paths begin with /v26.0/ or another version. A person has a phone
// number and a business-scoped user id, which consists of a country code, a dot, and letters and digits. With
// Person.HidePhone, webhooks do not contain the phone number. The server creates a person when the id or the phone
// number is first used. The person US.15551234567 has the phone number 15551234567. In faults and records, the calls of
// the API have these names:
//
//	sendMessage markRead uploadMedia getMedia deleteMedia download getPhoneNumber
//	edit       any attempt to change or delete a message, which is always refused
//	unknown    a path that does not exist
//
// In faults, webhooks have the names message and status.
//
// # What is enforced
//
// The stand-in checks the access token and the parameters: an unknown parameter is an error. The stand-in checks the
// lengths of texts (4,096), captions and buttons in UTF-16 units, and the types and sizes of media. Ids and links of
// media expire. The business may write to a person only within 24 hours after the person's last message (error 131047).
// One limit counts all messages per second (error 130429), and another limit counts the messages to one person (error
// 131056). Errors have the form of the Graph API. Stats counts and describes each call that exceeds a limit as a
// violation. An attempt to edit a message, and a reply to a message that is not in the conversation, are also
// violations. A correct client causes no violations.
//
// The stand-in signs webhooks. If a webhook does not get status 200 within 10 seconds, the stand-in sends the webhook
// again, first at once and then after growing pauses, for 7 days. The webhooks about one person arrive in order, except
// those that are sent again or delayed by a fault. With Options.BatchWindow, one request may contain several webhooks,
// as several entries, changes and messages.
//
// Numbers that WhatsApp does not publish are assumptions. The comments mark these numbers as assumptions.
//
// # What is missing
//
// The stand-in has only one number and account. The stand-in does not support templates, lists, flows, groups and
// calls, nor locations and contacts that the business sends. The stand-in does not send the headers that state how much
// of a limit is used. The stand-in does not fetch media that the business sends as a link. The stand-in sends statuses
// at once, and never the status "played". The stand-in does not examine the content of videos and audio. During an
// outage or a restart, the stand-in still posts webhooks.
//
// # Control over HTTP
//
// Besides the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events), the
// stand-in has the following controls. If a request names no user, DefaultUser acts. The field user may also be a phone
// number.
//
//	POST   /control/say           {"user":"US.7","text":"hello"} → {"message":"wamid.…"}
//	                              fields: Incoming; the content of files is base64
//	POST   /control/press         {"user":"US.7","message":"wamid.…","button":"Yes"} → {"message":"wamid.…"}; button is an id or a title
//	POST   /control/react         {"user":"US.7","message":"wamid.…","emoji":"👍"}    "" removes the emoji
//	POST   /control/edit          {"user":"US.7","message":"wamid.…","text":"hi"}     a person edits
//	POST   /control/delete        {"user":"US.7","message":"wamid.…"}                 a person deletes for everybody
//	POST   /control/read          {"user":"US.7"}                                     a person opens the conversation
//	POST   /control/person        {"user_id":"US.7","hide_phone":true,"username":"@ann"}   fields: Person
//	POST   /control/change_number {"user":"US.7","phone":"15557654321","user_id":"US.8"}
//	POST   /control/redeliver     {} → {"webhooks":1}               sends at once the webhooks that wait for another attempt
//	POST   /control/callback      {"url":"http://…"}                makes the handshake; with "", webhooks are lost
//	POST   /control/verify        {"url":"http://…","token":"…"}    makes only the handshake, by default with the right token
//	POST   /control/expire_token  {}                                "off":true makes the token valid again
//	POST   /control/limits        {"published":{"per_second":10},"hidden":{"pair_burst":5},"off":false}
//	                              fields: Limits; a call beyond a hidden limit is refused and is no violation
//	GET    /control/info          the ids, and the server's clock
//	GET    /control/persons
//	GET    /control/history       ?user=US.7                        Chronicle
//	GET    /control/text          ?user=US.7                        what a person reads now: [{"from":"…","text":"…"}]
//	GET    /control/view          ?user=US.7&at=2026-01-02T15:04:05.5Z   Screen; at may be milliseconds
//	GET    /control/file          ?id=1…                            the content of a file
//	GET    /control/deliveries    ?last=20                          list of Delivery
package whatsapp
