// Package homeassistant is a strict local imitation of Home Assistant, for tests and for any bot in any language. The
// server serves the WebSocket API and the REST API of one house. Tests can change the states of the house, and act as
// people in it. The package records every notification that a person saw, with each version of its text and the time of
// each version.
//
// This package was written only from Home Assistant's documentation and source, and shares no code with telex's adapter
// for Home Assistant. Therefore it is unlikely that the stand-in and the adapter contain the same mistake about Home
// Assistant.
//
// # In Go
//
//	s := homeassistant.New(homeassistant.Options{Latency: 60 * time.Millisecond})
//	defer s.Close()
//	go s.Serve(memnet.Listen()) // or a real listener
//	s.Fault(homeassistant.Fault{Method: "persistent_notification.create", Nth: 2, Action: fault.CutAfter})
//	s.SetState(homeassistant.Change{Entity: "binary_sensor.front_door", State: "on"})
//	seen := s.Screen(time.Now()).In(homeassistant.Panel) // the notifications that the side bar shows
//	bad := s.Stats().Violations.Total()
//
// The only source of time is package time, and all waits are on channels. The server, including its sockets, can
// therefore run in virtual time inside a testing/synctest bubble.
//
// # Where things are
//
// Clients use the server's address as the URL of Home Assistant. The WebSocket is at /api/websocket, and the REST API
// is below /api/. Options.Token is the long-lived access token of the bot's user, who is an administrator. Sources:
// https://developers.home-assistant.io/docs/api/websocket and https://developers.home-assistant.io/docs/api/rest.
// Details that these two pages of the documentation leave open (bodies of errors, time limits, checks of arguments)
// follow the source code of Home Assistant.
//
// In faults and records, a call of a service has the service's name (such as light.turn_on), both over the WebSocket
// and by REST. Other commands have the name of their type, and other REST calls the name of their method and route
// (such as "GET /api/states"). The opening of a WebSocket has the name "socket", and the authentication the name
// "auth".
//
// # What is enforced
//
// A path with a superfluous or missing slash at its end gets 404, and a wrong HTTP method gets 405. A wrong token gets
// 401 or auth_invalid, and Home Assistant shows the notification http-login about it. On a WebSocket, the client must
// send auth first and within ten seconds, ids must increase, and supported_features must be the first command. In the
// fields of commands and services, a missing field, a wrong type and an unknown field are errors. Entity services need
// a target. The stand-in disconnects a client that reads too slowly. Stats counts and describes each error of a client
// as a violation. A correct client causes no violations.
//
// A client with the feature coalesce_messages receives all waiting messages in one frame, as an array.
//
// Setting a state to the value that it already has fires no event. A change of only the attributes keeps last_changed.
// The event of a new entity has no old_state, and the event of a removed entity has no new_state. An unavailable entity
// ignores services. A restart keeps the states, but removes the notifications from the panel.
//
// # What is missing
//
// The stand-in has only one user, to whom the token belongs. The stand-in does not support areas, devices, labels and
// floors (as targets, they select no entity), triggers, templates, the history and logbook APIs, registries,
// automations, and Markdown in notifications. The conversation agent understands only "turn on <name>", "turn off
// <name>" and "what is <name>".
//
// # Control over HTTP
//
// Besides the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events), the
// stand-in has these:
//
//	POST   /control/set_state     {"entity_id":"light.kitchen","state":"on","attributes":{"brightness":200}}
//	                              → {"fired":true}; fields: Change
//	POST   /control/burst         {"changes":[…]}                         all at the same moment → {"fired":3}
//	POST   /control/remove        {"entity_id":"light.kitchen"}
//	POST   /control/fire          {"event_type":"doorbell","data":{…}}
//	POST   /control/dismiss       {"notification_id":"x"}                 a person dismisses the notification
//	POST   /control/revoke        {}                                      deletes the token; "off":true makes it valid again
//	POST   /control/cut_sockets   {}                                      → {"sockets":1}
//	POST   /control/stall_sockets {}                                      makes sockets half-open: only the client can notice it
//	GET    /control/info          the token's user, the entities, and the server's clock
//	GET    /control/states        ?entity_id=light.kitchen                list of State
//	GET    /control/history       ?place=persistent_notification          list of Notification
//	GET    /control/text          ?place=notify.phone       what a person reads now: [{"id":"…","title":"…","text":"…"}]
//	GET    /control/view          ?at=2026-01-02T15:04:05.5Z              Screen; at may be milliseconds
package homeassistant
