package slack

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"telex/standin/rig"
)

// Sizes of pages. Source: https://docs.slack.dev/reference/methods/conversations.history
const (
	defaultPage = 100
	maxPage     = 999
)

// readableChannel returns the channel of a call that reads messages. readableChannel refuses the call if the token
// lacks the scope for this kind of channel.
func (s *Server) readableChannel(r *request) *channel {
	c := s.visibleChannel(r, "channel")
	rig.RefuseIf(!s.granted(c.info.historyScope()), s.missingScope(c.info.historyScope()))
	failIf(c.info.BotOut, "not_in_channel")
	return c
}

// messageRange describes the messages that a call requests.
type messageRange struct {
	oldest, latest string
	inclusive      bool
	limit          int
	all            bool // the call also requests the messages' metadata
	after          string
}

func readRange(r *request) messageRange {
	p := messageRange{
		oldest: r.text("oldest"), latest: r.text("latest"), inclusive: r.flag("inclusive"),
		limit: r.integer("limit", defaultPage), all: r.flag("include_all_metadata"),
	}
	failIf(p.limit < 1 || p.limit > maxPage, "invalid_limit")
	if p.oldest == "0" {
		p.oldest = ""
	}
	failIf(p.oldest != "" && !validTS(p.oldest), "invalid_ts_oldest")
	failIf(p.latest != "" && !validTS(p.latest), "invalid_ts_latest")
	if cursor := r.text("cursor"); cursor != "" {
		text, err := base64.StdEncoding.DecodeString(cursor)
		ts, ok := strings.CutPrefix(string(text), cursorPrefix)
		failIf(err != nil || !ok || !validTS(ts), "invalid_cursor")
		p.after = ts
	}
	return p
}

const cursorPrefix = "next_ts:"

// contains reports whether the message with this ts is in the range.
func (p messageRange) contains(ts string) bool {
	low, high := compareTS(ts, p.oldest), compareTS(ts, p.latest)
	if p.oldest != "" && (low < 0 || low == 0 && !p.inclusive) {
		return false
	}
	return p.latest == "" || high < 0 || high == 0 && p.inclusive
}

// page returns a response with the first p.limit messages of list, and with the cursor of the next page.
func (s *Server) page(c *channel, p messageRange, list []*Message) object {
	more := len(list) > p.limit
	list = list[:min(len(list), p.limit)]
	messages := make([]object, len(list))
	for i, m := range list {
		if !m.Alive() {
			messages[i] = tombstone(m)
			continue
		}
		messages[i] = s.wire(c, m)
		if meta := m.Last().Metadata; meta != nil && p.all {
			messages[i]["metadata"] = meta
		}
	}
	result := object{"messages": messages, "has_more": more}
	if more {
		cursor := base64.StdEncoding.EncodeToString([]byte(cursorPrefix + list[len(list)-1].TS))
		result["response_metadata"] = object{"next_cursor": cursor}
	}
	return result
}

// channelHistory implements https://docs.slack.dev/reference/methods/conversations.history.
func (s *Server) channelHistory(r *request, c *channel) any {
	p := readRange(r)
	var list []*Message
	for _, m := range slices.Backward(c.messages) {
		m.expire(r.now)
		stands := m.Alive() || len(c.replies(m.TS)) > 0
		if m.EphemeralTo != "" || !stands || (m.ThreadTS != "" && !m.Broadcast) || !p.contains(m.TS) {
			continue
		}
		if p.after == "" || compareTS(m.TS, p.after) < 0 {
			list = append(list, m)
		}
	}
	result := s.page(c, p, list)
	result["pin_count"] = 0
	return result
}

// threadReplies implements https://docs.slack.dev/reference/methods/conversations.replies.
func (s *Server) threadReplies(r *request, c *channel) any {
	p := readRange(r)
	ts := r.text("ts")
	root := c.byTS[ts]
	failIf(root == nil || root.EphemeralTo != "" || (!root.Alive() && len(c.replies(ts)) == 0), "thread_not_found")
	var list []*Message
	if p.after == "" { // the first page begins with the parent message, even if it is outside the time range
		list = append(list, root)
	}
	for _, m := range c.replies(ts) {
		m.expire(r.now)
		if p.contains(m.TS) && (p.after == "" || compareTS(m.TS, p.after) > 0) {
			list = append(list, m)
		}
	}
	root.expire(r.now)
	return s.page(c, p, list)
}

// channelInfo implements https://docs.slack.dev/reference/methods/conversations.info.
func (s *Server) channelInfo(r *request, c *channel) any {
	return object{"channel": s.wireChannel(c)}
}

// userChannels lists the channels that the bot is a member of, sorted by id. Source:
// https://docs.slack.dev/reference/methods/users.conversations
func (s *Server) userChannels(r *request) any {
	types := map[string]bool{}
	for name := range strings.SplitSeq(cmp.Or(r.text("types"), "public_channel"), ",") {
		types[strings.TrimSpace(name)] = true
	}
	kinds := map[string]string{KindPublic: "public_channel", KindPrivate: "private_channel", KindIM: "im", KindMPIM: "mpim"}
	limit := r.integer("limit", defaultPage)
	failIf(limit < 1 || limit > maxPage, "invalid_limit")
	after, err := base64.StdEncoding.DecodeString(r.text("cursor"))
	failIf(err != nil, "invalid_cursor")
	list := []object{}
	next := ""
	for _, id := range slices.Sorted(maps.Keys(s.channels)) {
		c := s.channels[id]
		if c.info.BotOut || !types[kinds[c.info.Kind]] || c.info.Archived && r.flag("exclude_archived") || id <= string(after) {
			continue
		}
		if len(list) == limit {
			next = base64.StdEncoding.EncodeToString([]byte(list[limit-1]["id"].(string))) //nolint:errcheck // ids are strings
			break
		}
		list = append(list, s.wireChannel(c))
	}
	return object{"channels": list, "response_metadata": object{"next_cursor": next}}
}

func (s *Server) wireChannel(c *channel) object {
	kind := c.info.Kind
	w := object{
		"id": c.info.ID, "is_archived": c.info.Archived, "is_im": kind == KindIM, "is_mpim": kind == KindMPIM,
		"is_channel": kind == KindPublic, "is_group": kind == KindPrivate,
		"is_private": kind != KindPublic, "is_member": !c.info.BotOut, "context_team_id": TeamID, "created": s.started.Unix(),
	}
	if kind == KindIM {
		w["user"] = c.info.User
		return w
	}
	w["name"], w["name_normalized"] = c.info.Name, c.info.Name
	w["num_members"] = len(c.info.Members) + 1
	return w
}

// openChannel implements https://docs.slack.dev/reference/methods/conversations.open.
func (s *Server) openChannel(r *request) any {
	if r.text("channel") != "" {
		c := s.visibleChannel(r, "channel")
		return object{"channel": s.wireChannel(c)}
	}
	users := strings.FieldsFunc(r.text("users"), func(c rune) bool { return c == ',' || c == ' ' })
	failIf(len(users) == 0, "users_list_not_supplied")
	for _, id := range users {
		failIf(!s.isPerson(id), "user_not_found")
	}
	id := imOf(users[0])
	if len(users) > 1 {
		slices.Sort(users)
		id = "G" + strings.TrimPrefix(strings.Join(users, ""), "U")
	}
	known := s.channels[id] != nil
	c := s.channelFor(id)
	for _, user := range users {
		c.join(user)
	}
	r.call.Channel = id
	return object{"channel": s.wireChannel(c), "already_open": known, "no_op": known}
}

// userInfo implements https://docs.slack.dev/reference/methods/users.info.
func (s *Server) userInfo(r *request) any {
	u, ok := s.users[r.text("user")]
	failIf(!ok, "user_not_found")
	w := object{
		"id": u.ID, "team_id": TeamID, "name": u.Name, "real_name": u.RealName, "deleted": false, "is_bot": u.IsBot,
		"tz": u.TZ, "tz_offset": 0,
		"profile": object{"real_name": u.RealName, "display_name": u.Name, "bot_id": u.BotID, "team": TeamID},
	}
	if r.flag("include_locale") {
		w["locale"] = u.Locale
	}
	return object{"user": w}
}
