package discord

import (
	"net/http"
	"slices"
	"time"

	"telex/standin/rig"
)

// Source of the times: https://docs.discord.com/developers/interactions/receiving-and-responding#followup-messages
const (
	// responseTimeout is the time within which the bot must send its first response to an interaction.
	responseTimeout = 3 * time.Second
	// tokenLifetime is how long the token of an interaction is valid.
	tokenLifetime = 15 * time.Minute
	// maxFollowUps is the maximum number of follow-ups to an interaction in a guild of which the bot is not a
	// member.
	maxFollowUps = 5
)

// Types of interactions and of responses to them. Source:
// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-type
const (
	interactionCommand   = 2
	interactionComponent = 3

	responseMessage        = 4
	responseDeferred       = 5
	responseDeferredUpdate = 6
	responseUpdate         = 7
	responseAutocomplete   = 8
	responseModal          = 9
)

// Interaction records that a person used a command or pressed a button.
type Interaction struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"`
	Type    int       `json:"type"` // 2 a command, 3 a button
	At      time.Time `json:"at"`
	User    string    `json:"user"`
	Channel string    `json:"channel"`
	Guild   string    `json:"guild,omitempty"`
	// Name is the name of the command, or the custom_id of the button.
	Name string `json:"name"`
	// Message is the id of the message that has the button.
	Message string `json:"message,omitempty"`
	// Answered is the time of the bot's first response, or zero. Response is the type of the bot's first response.
	Answered time.Time `json:"answered,omitzero"`
	Response int       `json:"response,omitempty"`
	// Original is the message that the first response created, or the button's message.
	Original string `json:"original,omitempty"`
	// FollowUps are the messages that the bot sent after the first response.
	FollowUps []string `json:"follow_ups,omitempty"`
}

// failed reports whether, at the time t, the person reads that the application did not respond.
func (i *Interaction) failed(t time.Time) bool {
	ends := i.At.Add(responseTimeout)
	return ends.Before(t) && (i.Answered.IsZero() || i.Answered.After(ends))
}

func (i *Interaction) owners() map[string]string {
	if i.Guild == "" {
		return map[string]string{"0": "0"}
	}
	return map[string]string{"0": i.Guild}
}

// Interactions returns a copy of all interactions.
func (s *Server) Interactions() []Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Interaction, len(s.interactionList))
	for n, i := range s.interactionList {
		list[n] = *i
		list[n].FollowUps = slices.Clone(i.FollowUps)
	}
	return list
}

// interact creates an interaction and sends it to the gateway.
func (s *Server) interact(c *channel, i *Interaction, data map[string]any) {
	now := time.Now()
	i.ID, i.At, i.Channel, i.Guild = s.ids.next(now), now, c.info.ID, c.info.Guild
	i.Token = "aW50ZXJhY3Rpb246" + bucketHash(i.ID) + bucketHash(s.opts.Token+i.ID)
	s.interactions[i.ID] = i
	s.interactionList = append(s.interactionList, i)
	user := s.person(i.User)
	w := map[string]any{
		"id": i.ID, "application_id": s.me.ID, "type": i.Type, "token": i.Token, "version": 1, "data": data,
		"channel_id": c.info.ID, "channel": s.wireChannel(c), "app_permissions": allPermissions, "locale": "en-US",
		"entitlements": []any{}, "authorizing_integration_owners": i.owners(), "attachment_size_limit": maxFile,
	}
	if c.info.Guild != "" {
		member := s.wireMember(&user)
		member.Permissions = allPermissions
		w["guild_id"], w["guild"], w["guild_locale"], w["member"] = c.info.Guild, map[string]any{"id": c.info.Guild, "locale": "en-US", "features": []any{}}, "en-US", member
		w["context"] = 0
	} else {
		w["user"], w["context"] = user, 1
	}
	if m := c.byID[i.Message]; m != nil {
		w["message"] = s.wire(c, m)
	}
	s.Publish("interaction", Event{Channel: c.info.ID, Interaction: i})
	s.dispatch(intentNone, "INTERACTION_CREATE", w)
}

// callback answers POST /interactions/{interaction}/{token}/callback.
func (s *Server) callback(r *request) any {
	i := s.interactions[r.param("interaction")]
	rig.RefuseIf(i == nil || i.Token != r.param("token"), notFound(codeUnknownInteraction, "interaction"))
	r.call.Channel = i.Channel
	rig.RefuseIf(!i.Answered.IsZero(), fail(http.StatusBadRequest, codeAlreadyAcknowledged, "Interaction has already been acknowledged."))
	rig.RefuseIf(r.now.Sub(i.At) > responseTimeout, notFound(codeUnknownInteraction, "interaction"))
	f := r.form()
	f.badIf(!f.has("type"), "BASE_TYPE_REQUIRED", "This field is required", "type")
	kind := f.integer("type")
	f.errs.refuse()
	s.respond(r, i, kind, f.sub("data"))
	f.errs.refuse()
	i.Answered, i.Response = r.now, kind
	s.Publish("interaction", Event{Channel: i.Channel, Interaction: i})
	r.call.Message = i.Original
	if r.query.Get("with_response") != "true" {
		return nil
	}
	result := map[string]any{"interaction": map[string]any{
		"id": i.ID, "type": i.Type, "response_message_id": i.Original, "response_message_loading": kind == responseDeferred,
	}}
	if c := s.channels[i.Channel]; c.byID[i.Original] != nil {
		result["resource"] = map[string]any{"type": kind, "message": s.wire(c, c.byID[i.Original])}
	}
	return result
}

// respond handles the bot's first response to an interaction.
func (s *Server) respond(r *request, i *Interaction, kind int, data form) {
	c := s.channels[i.Channel]
	switch kind {
	case responseMessage:
		m := s.reply(r, c, i, data, nil)
		i.Original = m.ID
	case responseDeferred:
		flags := data.integer("flags")
		data.badIf(flags&^flagEphemeral != 0, "BASE_TYPE_CHOICES", "Only the flag EPHEMERAL can be set on a deferred response.", "flags")
		data.errs.refuse()
		flags |= flagLoading
		m := s.replyWith(r, i, Version{At: r.now, Method: r.call.Method, Flags: flags})
		s.add(c, m)
		i.Original = m.ID
	case responseDeferredUpdate, responseUpdate:
		rig.RefuseIf(i.Type != interactionComponent, badField("INTERACTION_RESPONSE_TYPE_INVALID", "Value must be one of {4, 5, 9, 10, 12}.", "type"))
		i.Original = i.Message
		m := c.message(i.Message)
		if kind == responseDeferredUpdate {
			return
		}
		rig.RefuseIf(m == nil, unknownMessage())
		r.payload = rig.Encode(data.fields)
		v, _ := s.revise(r, c, m, true)
		s.change(c, m, v)
	case responseAutocomplete, responseModal:
		rig.RefuseIf(kind == responseAutocomplete || !data.has("custom_id"),
			badField("INTERACTION_RESPONSE_TYPE_INVALID", "Interaction type does not take this response.", "type"))
	default:
		panic(badField("BASE_TYPE_CHOICES", "Value must be one of {1, 4, 5, 6, 7, 8, 9, 10, 12}.", "type"))
	}
}

// reply creates a message that answers an interaction.
func (s *Server) reply(r *request, c *channel, i *Interaction, data form, files map[int]rig.Upload) *Message {
	if files == nil {
		files = r.files
	}
	p := readPayload(data, files, true, false, flagSuppressEmbeds|flagEphemeral|flagSilent|flagComponentsV2)
	p.form.errs.refuse()
	v := Version{
		At: r.now, Method: r.call.Method, Content: p.content, Embeds: p.embeds, Components: p.components,
		Buttons: p.buttons, Flags: p.flags, Attachments: s.store(r.now, c, p.files),
	}
	rig.RefuseIf(v.empty(), emptyMessage())
	m := s.replyWith(r, i, v)
	s.mention(c, m, textOf(p.content, p.components), p.allowed)
	s.add(c, m)
	s.stats.Messages++
	return m
}

func (s *Server) replyWith(r *request, i *Interaction, v Version) *Message {
	m := &Message{
		ID: s.ids.next(r.now), Type: typeDefault, From: s.me, FromBot: true, Interaction: i.ID,
		Silent: v.Flags&flagSilent != 0, Seen: rig.Seen[Version]{Versions: []Version{v}},
	}
	if i.Type == interactionCommand {
		m.Type = typeCommand
	}
	if v.Flags&flagEphemeral != 0 {
		m.OnlyFor = i.User
	}
	return m
}

// interactionByToken returns the interaction of a call to /webhooks/{app}/{token}, whose token must be valid.
func (s *Server) interactionByToken(r *request) (*Interaction, *channel) {
	n := slices.IndexFunc(s.interactionList, func(i *Interaction) bool { return i.Token == r.param("token") })
	rig.RefuseIf(n < 0 || r.param("app") != s.me.ID || s.interactionList[n].Answered.IsZero(), notFound(codeUnknownWebhook, "Webhook"))
	i := s.interactionList[n]
	r.call.Channel = i.Channel
	rig.RefuseIf(r.now.Sub(i.At) > tokenLifetime, fail(http.StatusUnauthorized, codeWebhookToken, "Invalid Webhook Token"))
	return i, s.channels[i.Channel]
}

// interactionMessage returns the message of a call to /webhooks/{app}/{token}/messages/{message}.
func (s *Server) interactionMessage(r *request) (*channel, *Message) {
	i, c := s.interactionByToken(r)
	id := r.param("message")
	if id == "@original" {
		id = i.Original
	}
	m := c.message(id)
	rig.RefuseIf(m == nil || id != i.Original && !slices.Contains(i.FollowUps, id), unknownMessage())
	r.call.Message = m.ID
	return c, m
}

func (s *Server) getOwn(r *request, c *channel, m *Message) any {
	return s.wire(c, m)
}

// editOwn answers PATCH /webhooks/{app}/{token}/messages/{message}. editOwn turns a deferred response into an ordinary
// message.
func (s *Server) editOwn(r *request, c *channel, m *Message) any {
	loading := m.Last().Loading()
	v, p := s.revise(r, c, m, true)
	if loading {
		s.mention(c, m, textOf(v.Content, v.Components), p.allowed)
	}
	s.change(c, m, v)
	return s.wire(c, m)
}

func (s *Server) deleteOwn(r *request, c *channel, m *Message) any {
	s.remove(c, m, r.now, "bot")
	s.stats.Deletes++
	return nil
}

// followUp answers POST /webhooks/{app}/{token}. After a deferred response, the first follow-up takes the place of the
// deferred response.
func (s *Server) followUp(r *request, i *Interaction, c *channel) any {
	if m := c.message(i.Original); m != nil && i.Response == responseDeferred && m.Last().Loading() {
		r.call.Message = m.ID
		return s.editOwn(r, c, m)
	}
	rig.RefuseIf(s.access(c).Hidden && len(i.FollowUps) >= maxFollowUps,
		fail(http.StatusBadRequest, codeFollowUps, "Maximum number of follow up messages has been reached"))
	m := s.reply(r, c, i, r.form(), r.files)
	i.FollowUps = append(i.FollowUps, m.ID)
	r.call.Message = m.ID
	return s.wire(c, m)
}
