// Package homeassistant speaks to Home Assistant: it tells the gateway when watched entities change, and shows answers as
// notifications.
//
//	socket.go    the WebSocket: authentication, subscription, pings
//	receive.go   Run: one connection, and the messages about changes
//	event.go     decoding of what arrives (pure)
//	watch.go     which changes are told, and when (pure)
//	sentence.go  changes as sentences (pure)
//	send.go      notifications, by the REST API
//	dialect.go   the Markdown of notifications
//
// # Changes become one message at a time
//
// A house can change a thousand times a second, and each message costs a turn of a model. So all changes go to one
// conversation, as one message that lists them. The next message is sent once the answer to the one before is complete, and
// contains the newest state of whatever changed meanwhile. Memory is bounded by the number of entities.
//
// # Nobody wrote an event
//
// Names and states can be set by devices, by media and by strangers. Events are outside content (chat.Reported), and nobody
// can be asked while they are answered (chat.Inbound.Unattended): a tool that needs approval is refused.
//
// The package states its limits but does not obey them: it never repeats, throttles or splits a call, and keeps nothing about a
// notification once a call has returned. Every failure is a [chat.SendError]. The token is in none of them, and in no log.
package homeassistant
