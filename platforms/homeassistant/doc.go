// Package homeassistant connects telex to Home Assistant. The package reports changes of watched entities to the gateway,
// and shows the model's answers as notifications.
//
//	socket.go    the WebSocket: authentication, subscription, pings
//	receive.go   Run: one connection, and the messages about changes
//	event.go     decoding of frames (pure)
//	watch.go     which changes are reported, and when (pure)
//	sentence.go  changes as sentences (pure)
//	send.go      notifications, through the REST API
//	dialect.go   the Markdown of notifications
//
// # One message at a time
//
// A house can report a thousand changes per second, but for each message to the gateway, the model must write an
// answer. Because there may be many changes, the bot collects changes, and reports all collected changes in one
// message. The bot sends the next message to the gateway only after the answer to the previous message is complete. The
// next message contains the newest state of every entity that changed during the previous answer. Because the bot keeps
// only the newest state of an entity, the memory that it needs depends only on the number of entities.
//
// # No person writes events
//
// Devices, media and strangers can set the names and states of entities. Because no person writes the events, the bot
// marks its messages as outside content (chat.Reported). While the model answers a message about changes in the house,
// nobody is present who could approve a tool call (chat.Inbound.Unattended). For this reason, telex
// refuses a tool call that needs approval during the answer.
//
// The package reports its limits in [Bot.Profile], and the gateway enforces these limits. The package itself never
// repeats, throttles or splits a call, and keeps no state of a notification after a call has returned. Every failed
// call returns a [chat.SendError]. No error and no log contains the token.
package homeassistant
