package transcription_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"telex/agent/transcription"
	"telex/standin/memnet"
	"telex/standin/openai"
)

func TestImitatedProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := openai.New(openai.Options{Key: secret, Models: []string{"whisper-1"}})
		l := memnet.Listen()
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		transport := &http.Transport{DialContext: l.Dial}
		defer func() {
			transport.CloseIdleConnections()
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			<-served
		}()
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
