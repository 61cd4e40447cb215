// Package homeassistant is a strict local imitation of Home Assistant, for tests and for any bot in any language. It
// serves the WebSocket API and the REST API of one house, lets programs play the house and the people in it, and
// remembers every notification that a person saw, with each text it had and when.
//
// It is written from the platform's documentation alone and shares no code with the adapter, so that a wrong reading
// of the platform can't be in both.
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
// Time is only asked of package time, and all waits are on channels, so that all of it runs in virtual time inside a
// testing/synctest bubble, sockets included.
//
// # Where things are
//
// A client's URL is the address itself: /api/websocket is the socket, /api/ the REST API, Options.Token the
// long-lived access token of the bot's user, an administrator. Sources:
// https://developers.home-assistant.io/docs/api/websocket and https://developers.home-assistant.io/docs/api/rest; what
// these pages leave open (bodies of errors, time limits, checks of arguments) follows the source of Home Assistant.
//
// A Call has the name of the service (such as light.turn_on) whether it arrives over the socket or by REST. Other
// commands have their type as the name, other REST calls their method and route (such as "GET /api/states"), the
// opening of a socket is "socket", and its authentication "auth".
//
// # What is enforced
//
// Routes: a wrong slash at the end is 404, another HTTP method 405. Tokens: 401, auth_invalid; the person gets the
// notification http-login that a login failed. The order of messages on a socket: auth within ten seconds and first,
// ids that increase, supported_features as the first command. Fields of commands and of services: a missing field, a
// wrong type and an unknown field are errors. Targets: entity services need one. A client that reads too slowly is
// disconnected. What a client does wrong is a violation, which Stats counts with details; a client that behaves has none.
//
// A client that said coalesce_messages gets several messages in one frame, as an array, whenever several wait.
//
// A state that is set to what it was fires no event. A change of the attributes alone keeps last_changed. A new entity
// has no old_state, a removed one no new_state. An unavailable entity does not react to services. Notifications of the
// panel don't outlive a restart; states do.
//
// # What is not
//
// Users besides the bot's, areas, devices, labels and floors (they select nothing), triggers, templates, the history and
// logbook APIs, registries, automations, the texts of notifications as Markdown. The conversation agent understands
// "turn on <name>", "turn off <name>" and "what is <name>".
//
// # Control over HTTP
//
// Beside the controls of package rig (fault, outage, paused, resume, restart, reset, stats, calls, events) there are:
//
//	POST   /control/set_state     {"entity_id":"light.kitchen","state":"on","attributes":{"brightness":200}}
//	                              → {"fired":true}; fields: Change
//	POST   /control/burst         {"changes":[…]}                         all at once → {"fired":3}
//	POST   /control/remove        {"entity_id":"light.kitchen"}
//	POST   /control/fire          {"event_type":"doorbell","data":{…}}
//	POST   /control/dismiss       {"notification_id":"x"}                 a person dismisses it
//	POST   /control/revoke        {}                                      deletes the token; "off":true takes it back
//	POST   /control/cut_sockets   {}                                      → {"sockets":1}
//	POST   /control/stall_sockets {}                                      half-open: only the client can notice
//	GET    /control/info          the token's user, the entities, and the server's clock
//	GET    /control/states        ?entity_id=light.kitchen                list of State
//	GET    /control/history       ?place=persistent_notification          list of Notification
//	GET    /control/text          ?place=notify.phone       what a person reads now: [{"id":"…","title":"…","text":"…"}]
//	GET    /control/view          ?at=2026-01-02T15:04:05.5Z              Screen; at may be milliseconds
package homeassistant
