package telegram

import (
	"net/http"
	"strings"

	"telex/standin/rig"
)

// pollMethod is the only method that waits before it responds.
const pollMethod = "getUpdates"

// methods returns all methods except pollMethod. The server runs these methods with s.mu held.
func methods() map[string]func(*Server, *request) any {
	return map[string]func(*Server, *request) any{
		"getMe":                (*Server).getMe,
		"logOut":               (*Server).acceptWithoutEffect,
		"close":                (*Server).acceptWithoutEffect,
		"setWebhook":           (*Server).setWebhook,
		"deleteWebhook":        (*Server).deleteWebhook,
		"getWebhookInfo":       (*Server).webhookInfo,
		"getChat":              (*Server).getChat,
		"sendMessage":          rig.On((*Server).target, (*Server).sendMessage),
		"sendRichMessage":      rig.On((*Server).target, (*Server).sendRichMessage),
		"sendRichMessageDraft": rig.On((*Server).target, (*Server).sendRichMessageDraft),
		"sendMessageDraft":     rig.On((*Server).target, (*Server).sendMessageDraft),
		"editMessageText":      (*Server).editMessageText,
		"editMessageCaption":   (*Server).editMessageCaption,
		"deleteMessage":        rig.On((*Server).target, (*Server).deleteMessage),
		"deleteMessages":       rig.On((*Server).target, (*Server).deleteMessages),
		"sendChatAction":       rig.On((*Server).target, (*Server).sendChatAction),
		"setMessageReaction":   rig.On((*Server).target, (*Server).setMessageReaction),
		"sendDocument":         rig.On((*Server).target, sendingMethod("document")),
		"sendPhoto":            rig.On((*Server).target, sendingMethod("photo")),
		"getFile":              (*Server).getFile,
		"setMyCommands":        (*Server).setMyCommands,
		"getMyCommands":        (*Server).getMyCommands,
		"deleteMyCommands":     (*Server).deleteMyCommands,
		"answerCallbackQuery":  (*Server).answerCallbackQuery,
	}
}

// sendingMethod returns the method that sends files of a kind of media.
func sendingMethod(media string) func(*Server, *request, *chat) any {
	return func(s *Server, r *request, c *chat) any { return s.sendFile(r, c, media) }
}

// canonicalName returns the documented name of a method, because Telegram ignores upper and lower case. canonicalName
// returns an unknown name unchanged.
func canonicalName(method string) string {
	if strings.EqualFold(method, pollMethod) {
		return pollMethod
	}
	for name := range methods() {
		if strings.EqualFold(name, method) {
			return name
		}
	}
	return method
}

// dispatch runs a method. The caller holds s.mu.
func (s *Server) dispatch(r *request) any {
	rich := strings.Contains(r.call.Method, "Rich")
	if run, ok := methods()[r.call.Method]; ok && !(rich && s.richUnsupported) {
		return run(s, r)
	}
	panic(&apiError{code: http.StatusNotFound, description: "Not Found: method not found"})
}

func (s *Server) getMe(*request) any {
	return wireMe{User: s.me, CanJoinGroups: true, CanReadAllGroupMessages: s.opts.ReadAll}
}

// acceptWithoutEffect accepts a call that has no effect in the stand-in.
func (s *Server) acceptWithoutEffect(*request) any { return true }
