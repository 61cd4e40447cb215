package transcription_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"telex/agent/transcription"
	"telex/standin/memnet"
	"telex/standin/openai"
)

func TestStandin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := openai.New(openai.Options{Key: secret, Models: []string{"whisper-1"}})
		transport := memnet.Serve(t, server).Transport(t)
		c, err := transcription.New(transcription.Options{
			BaseURL: "http://provider/v1", APIKey: secret, Model: "whisper-1", Transport: transport, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Transcribe(t.Context(), "voice.ogg", []byte("OggS"+strings.Repeat("\x00", 2000)))
		if err != nil || got != "This is a recording of 2004 bytes." {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
