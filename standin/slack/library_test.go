package slack_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	library "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"telex/standin/fault"
	"telex/standin/slack"
)

// TestLibrary checks that the client library that telex's Slack adapter uses works with the stand-in over a real
// network.
func TestLibrary(t *testing.T) {
	t.Parallel()
	s := slack.New(slack.Options{Limits: slack.NoLimits()})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-done); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	api := library.New(s.BotToken(), library.OptionAppLevelToken(s.AppToken()), library.OptionAPIURL("http://"+l.Addr().String()+"/api/"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	socket := socketmode.New(api, socketmode.OptionDialer(&websocket.Dialer{HandshakeTimeout: time.Minute}))
	ran := make(chan error, 1)
	go func() { ran <- socket.RunContext(ctx) }()

	mention := ""
	for e := range socket.Events {
		switch e.Type {
		case socketmode.EventTypeHello:
			mention = s.Say(slack.Incoming{Channel: channel, Text: "<@" + slack.BotUser + "> hello", Files: []slack.Attachment{{Name: "a.txt", Content: []byte("content")}}})
			continue
		case socketmode.EventTypeEventsAPI:
		default:
			continue
		}
		if err := socket.Ack(*e.Request); err != nil {
			t.Errorf("Ack: %v", err)
		}
		outer, ok := e.Data.(slackevents.EventsAPIEvent)
		if !ok {
			t.Fatalf("data: got %T", e.Data)
		}
		if in, ok := outer.InnerEvent.Data.(*slackevents.AppMentionEvent); ok {
			if in.TimeStamp != mention || in.Channel != channel || in.User != slack.DefaultUser {
				t.Errorf("mention: got %+v", in)
			}
			break
		}
	}
	useLibrary(ctx, t, s, api, mention)
	cancel()
	if err := <-ran; !errors.Is(err, context.Canceled) {
		t.Errorf("RunContext: got %v, want %v", err, context.Canceled)
	}
}

// useLibrary makes the calls that a bot makes.
func useLibrary(ctx context.Context, t *testing.T, s *slack.Server, api *library.Client, thread string) {
	t.Helper()
	who, err := api.AuthTestContext(ctx)
	if err != nil || who.UserID != slack.BotUser || who.BotID != slack.BotID {
		t.Errorf("AuthTest: got %+v, %v", who, err)
	}
	meta := library.MsgOptionMetadata(library.SlackMetadata{EventType: "telex", EventPayload: map[string]any{"key": "k1"}})
	button := library.NewActionBlock("b", library.NewButtonBlockElement("stop", "v", library.NewTextBlockObject("plain_text", "Stop", false, false)))
	_, ts, err := api.PostMessageContext(ctx, channel, library.MsgOptionText("one", false), library.MsgOptionTS(thread), meta,
		library.MsgOptionBlocks(library.NewMarkdownBlock("m", "**one**"), button))
	if err != nil {
		t.Fatalf("PostMessage: %v", err)
	}
	if _, _, _, err := api.UpdateMessageContext(ctx, channel, ts, library.MsgOptionMarkdownText("**two**")); err != nil {
		t.Errorf("UpdateMessage: %v", err)
	}
	_, stream, err := api.StartStreamContext(ctx, channel, library.MsgOptionTS(thread), library.MsgOptionMarkdownText("a"),
		library.MsgOptionRecipientTeamID(slack.TeamID), library.MsgOptionRecipientUserID(slack.DefaultUser))
	if err != nil {
		t.Fatalf("StartStream: %v", err)
	}
	if _, _, err := api.AppendStreamContext(ctx, channel, stream, library.MsgOptionMarkdownText("b")); err != nil {
		t.Errorf("AppendStream: %v", err)
	}
	if _, _, err := api.StopStreamContext(ctx, channel, stream, library.MsgOptionMarkdownText("c")); err != nil {
		t.Errorf("StopStream: %v", err)
	}
	if err := api.SetAssistantThreadsStatusContext(ctx, library.AssistantThreadsSetStatusParameters{ChannelID: channel, ThreadTS: thread, Status: "thinks"}); err != nil {
		t.Errorf("SetAssistantThreadsStatus: %v", err)
	}
	list, _, _, err := api.GetConversationRepliesContext(ctx, &library.GetConversationRepliesParameters{ChannelID: channel, Timestamp: thread, IncludeAllMetadata: true})
	if err != nil || len(list) != 3 || list[1].Metadata.EventPayload["key"] != "k1" || list[2].Text != "abc" {
		t.Errorf("GetConversationReplies: got %+v, %v", list, err)
	}
	if len(list) > 0 && len(list[0].Files) == 1 {
		var got bytes.Buffer
		if err := api.GetFileContext(ctx, list[0].Files[0].URLPrivateDownload, &got); err != nil || got.String() != "content" {
			t.Errorf("GetFile: got %q, %v", got.String(), err)
		}
	}
	if _, err := api.UploadFileContext(ctx, library.UploadFileParameters{Filename: "b.txt", FileSize: 2, Content: "hi", Channel: channel, ThreadTimestamp: thread}); err != nil {
		t.Errorf("UploadFile: %v", err)
	}
	if _, err := api.GetUserInfoContext(ctx, slack.DefaultUser); err != nil {
		t.Errorf("GetUserInfo: %v", err)
	}
	s.Fault(slack.Fault{Method: "chat.delete", Times: 1, Action: fault.RateLimit, RetryAfter: 7})
	_, _, err = api.DeleteMessageContext(ctx, channel, ts)
	if limited, ok := errors.AsType[*library.RateLimitedError](err); !ok || limited.RetryAfter != 7*time.Second {
		t.Errorf("DeleteMessage: got %v, want to wait 7s", err)
	}
	if n := s.Stats().Violations.Total(); n != 0 {
		t.Errorf("violations: got %+v", s.Stats().Violations.Details)
	}
}
