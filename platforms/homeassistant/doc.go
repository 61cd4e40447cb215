// Package homeassistant implements Home Assistant's APIs. It reports changes of watched entities to the gateway, and shows
// answers as notifications.
//
//	socket.go    the WebSocket: authentication, subscription, pings
//	receive.go   Run: one connection, and the messages about changes
//	event.go     decoding of frames (pure)
//	watch.go     which changes are reported, and when (pure)
//	sentence.go  changes as sentences (pure)
//	send.go      notifications, by the REST API
//	dialect.go   the Markdown of notifications
//
// # One message at a time
//
// A house can change a thousand times a second, and each message costs a turn of a model. So all changes go to one
// conversation, as one message that lists them. The next message follows after the answer to the previous one is
// complete. It contains the newest state of everything that changed meanwhile. So the memory that is needed depends
// only on the number of entities.
//
// # No person writes events
//
// Devices, media and strangers can set names and states. So events are outside content (chat.Reported), and nobody is
// there to approve tool calls while they are answered (chat.Inbound.Unattended). A tool call that needs approval is
// therefore refused.
//
// The package states its limits but does not enforce them: it never repeats, throttles or splits a call, and keeps no
// state of a notification after a call has returned. Every failure is a [chat.SendError]. No error and no log contains
// the token.
package homeassistant
