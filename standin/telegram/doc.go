// Package telegram is a strict local imitation of the Telegram Bot API, for tests, for the demo, and for any bot in any
// language. The server serves one bot at /bot<token>/<method>. Tests can write messages and press buttons as people.
// The package records what people saw, and when.
//
// This package was written only from Telegram's documentation, and shares no code with telex's Telegram adapter.
// Therefore it is unlikely that the stand-in and the adapter contain the same mistake about Telegram.
//
// # In Go
//
//	s := telegram.New(telegram.Options{Token: "1:a", Latency: 60 * time.Millisecond})
//	defer s.Close()
//	go s.Serve(memnet.Listen()) // or a real listener
//	s.Fault(telegram.Fault{Method: "editMessageText", Every: 5, Action: fault.RateLimit, RetryAfter: 2})
//	s.Outage(fault.Outage{Kind: fault.OutageCut, For: 10 * time.Second})
//	s.Say(telegram.Incoming{Chat: 1001, Text: "hello"})
//	seen := s.Screen(1001, time.Now()) // what the person sees: messages, files, drafts, typing
//	bad := s.Stats().Violations.Total()
//
// The only source of time is package time, so the server runs in virtual time inside a testing/synctest bubble.
//
// # What is enforced
//
// The stand-in checks tokens, and the rules for texts and entities. The stand-in cleans, trims and normalizes texts and
// entities as Telegram does. All private chats and basic groups share one sequence of message ids; each supergroup has
// a sequence of its own. The stand-in follows the rules of privacy mode and of topics. The stand-in allows only one
// poll at a time. A call that exceeds one of the Limits gets 429, and so does each further call in the same scope (the
// chat, or all chats) until retry_after is over. Stats counts and describes all of these calls as violations. A correct
// client causes no violations. Chat actions and deletions count against no limit, but they also get 429 while a scope
// is closed.
//
// # Control over HTTP
//
// Besides the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events), the
// stand-in has these:
//
//	POST   /control/say         {"chat":1001,"text":"hello"}            → {"chat":1001,"message_id":1}
//	                            fields: Incoming; content is base64; for an album, also → "message_ids"
//	POST   /control/press       {"chat":1001,"message_id":2,"data":"x"} → {"query_id":"…"}
//	POST   /control/say         {"chat":1001,"edit_of":1,"text":"hi"}   a person edits a message
//	POST   /control/delete      {"chat":1001,"message_id":2}            a person deletes a message
//	POST   /control/stop_draft  {"chat":1001,"draft_id":7}              a person presses a draft's stop button
//	POST   /control/block       {"chat":1001,"blocked":true}            the person blocks the bot; in a group, removes it
//	POST   /control/deactivate  {"chat":1001}
//	POST   /control/rich        {"rich":false}                          the server then has no rich messages
//	POST   /control/admin       {"chat":-1001,"admin":true}             makes the bot an administrator; with "user", a person
//	POST   /control/migrate     {"chat":-1001}                          → {"chat":-1000100001001}
//	POST   /control/limits      {"published":{"group_per_minute":10},"hidden":{"private_per_second":0.5},"off":false}
//	                            fields: Limits; a call beyond a hidden limit gets 429 and is no violation
//	GET    /control/info        the bot, and the server's clock
//	GET    /control/chats
//	GET    /control/history     ?chat=1001                              ChatHistory
//	GET    /control/view        ?chat=1001&at=2026-01-02T15:04:05.5Z    Screen; at may be milliseconds
//	GET    /control/file        ?chat=1001&message_id=2                 the file of a message
//	GET    /control/commands    the default command menu
//	GET    /control/menu        ?chat=-1001&user=1001                   the commands that a person sees in a chat
//	GET    /control/deliveries  the attempts to deliver updates to webhooks, with their results
//	GET    /control/answers     the bot's answers to button presses
//
// # Webhooks
//
// After setWebhook, the stand-in posts updates to the webhook, with the secret in the header
// X-Telegram-Bot-Api-Secret-Token. The stand-in posts the updates of one chat one after the other, and updates of
// different chats in parallel. An update that gets no 2xx response within a minute is repeated. The stand-in posts such
// an update again after 1 s, 2 s, 4 s and so on, or after the time in Retry-After. getWebhookInfo returns the reason
// for the failure. While a webhook is set, getUpdates gets 409. Without Options.Dial, the stand-in connects only to
// webhooks on this machine. Unlike Telegram, the stand-in accepts a webhook on this machine without HTTPS and on any
// port.
//
// # Buttons
//
// A message may have an inline keyboard (reply_markup). An edit replaces the text and the keyboard, so an edit without
// a keyboard removes the buttons. A press of a button sends a callback_query to the bot. The bot must answer each
// callback_query once with answerCallbackQuery, within 15 minutes. Until the answer arrives, the person's client shows
// that it waits. People can press only the buttons of a message's newest version.
//
// # Replies
//
// With these bodies of POST /control/say, a person replies to a part of a message, or to a message in another chat:
//
//	{"chat":1001,"reply_to":2,"quote":"a part of its text","text":"why?"}
//	{"chat":1001,"external":{"user":7,"name":"Ann","text":"the bot gets a quote of this","media":"photo","content":"…"},"text":"why?"}
//
// # Files
//
// With these bodies of POST /control/say, a person sends a photo, an album, or a large file of which only the size is
// given:
//
//	{"chat":1001,"media":"photo","content":"/9j/4AAQ…","text":"the caption"}
//	{"chat":1001,"album":[{"media":"photo","content":"…"},{"media":"video","content":"…"}]}
//	{"chat":1001,"media":"document","file_name":"film.mkv","file_size":3000000000}
//
// The bot receives the file_id of each file; for a large photo, also the file_id of a small copy. The bot downloads a
// file with getFile and GET /file/bot<token>/<file_path>. getFile refuses files above 20 MB, and a link expires after
// an hour. If the request contains file_size, the stand-in reports this size instead of the true one. If file_size is
// -1, the stand-in reports no size, not even in the headers of the download. Faults select downloads by the method
// "file". These faults slow a download down, or break it off:
//
//	{"method":"file","action":"drip","rate":100}      bytes per second
//	{"method":"file","action":"cut_middle"}           after half of the content
//
// With this fault, the stand-in cuts the connection of a call, and the call takes effect four seconds later:
//
//	{"method":"sendMessage","action":"late","delay_ms":4000}
//
// This fault imitates a server from before 2026, which has no drafts:
//
//	{"method":"sendMessageDraft","action":"status","status":404,"description":"Not Found: method not found"}
//
// # The page
//
// GET / returns a chat page. On this page, you can write, reply, edit and attach files as a person, and watch the bot's
// messages grow as Telegram shows them. On this page, drafts have a dashed border.
package telegram
