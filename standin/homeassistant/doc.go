// Package homeassistant is a strict local imitation of Home Assistant, for tests and for any bot in any language. It
// serves the WebSocket API and the REST API of one house. Programs can act as the house and the people in it. It
// records every notification that a person saw, with each version of its text and the time of each version.
//
// It was written only from the platform's documentation, and shares no code with the adapter. So the two can't contain
// the same misreading of the platform.
//
// # In Go
//
//	s := homeassistant.New(homeassistant.Options{Latency: 60 * time.Millisecond})
//	defer s.Close()
//	go s.Serve(memnet.Listen()) // or a real listener
//	s.Fault(homeassistant.Fault{Method: "persistent_notification.create", Nth: 2, Action: fault.CutAfter})
//	s.SetState(homeassistant.Change{Entity: "binary_sensor.front_door", State: "on"})
//	seen := s.Screen(time.Now()).In(homeassistant.Panel) // the notifications in the side bar
//	bad := s.Stats().Violations.Total()
//
// The only source of time is package time, and all waits are on channels, so everything, including sockets, runs in
// virtual time inside a testing/synctest bubble.
//
// # Where things are
//
// A client's URL is the server's address: the WebSocket is at /api/websocket, the REST API below /api/. Options.Token
// is the long-lived access token of the bot's user, an administrator. Sources:
// https://developers.home-assistant.io/docs/api/websocket and https://developers.home-assistant.io/docs/api/rest.
// Details that these pages leave open (bodies of errors, time limits, checks of arguments) follow the source code of
// Home Assistant.
//
// A Call of a service has the service's name (such as light.turn_on), both over the WebSocket and by REST. Other
// commands are named by their type, and other REST calls by method and route (such as "GET /api/states"). Opening a
// WebSocket is the call "socket", and its authentication "auth".
//
// # What is enforced
//
// A superfluous or missing slash at the end of a path gets 404, and a wrong HTTP method 405. A wrong token gets 401 or
// auth_invalid, and the person gets the notification http-login about it. On a WebSocket, auth must come first and
// within ten seconds, ids must increase, and supported_features must be the first command. In the fields of commands
// and services, a missing field, a wrong type and an unknown field are errors. Entity services need a target. A client
// that reads too slowly is disconnected. Errors of the client are violations, which Stats counts with details. A
// correct client causes none.
//
// A client with the feature coalesce_messages gets all waiting messages in one frame, as an array.
//
// Setting a state to its present value fires no event. A change of attributes alone keeps last_changed. The event of a
// new entity has no old_state, and the event of a removed entity has no new_state. An unavailable entity ignores
// services. After a restart, the states are the same, but the notifications of the panel are gone.
//
// # What is missing
//
// Users besides the token's; areas, devices, labels and floors (as targets, they select no entity); triggers,
// templates, the history and logbook APIs, registries, automations; Markdown in notifications. The conversation agent
// understands "turn on <name>", "turn off <name>" and "what is <name>".
//
// # Control over HTTP
//
// The controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events) exist, and these:
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
