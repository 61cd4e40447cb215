package telegram

import (
	"net/http"
	"strings"

	"telex/standin/rig"
)

// pollMethod is the only method that waits.
const pollMethod = "getUpdates"

// methods are all that exist but pollMethod; they run with s.mu held.
func methods() map[string]func(*Server, *request) any {
	return map[string]func(*Server, *request) any{
		"getMe":                (*Server).getMe,
		"logOut":               (*Server).accept,
		"close":                (*Server).accept,
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
		"sendDocument":         rig.On((*Server).target, sending("document")),
		"sendPhoto":            rig.On((*Server).target, sending("photo")),
		"getFile":              (*Server).getFile,
		"setMyCommands":        (*Server).setMyCommands,
		"getMyCommands":        (*Server).getMyCommands,
		"deleteMyCommands":     (*Server).deleteMyCommands,
		"answerCallbackQuery":  (*Server).answerCallbackQuery,
	}
}

// sending is the method that sends a kind of media.
func sending(media string) func(*Server, *request, *chat) any {
	return func(s *Server, r *request, c *chat) any { return s.sendFile(r, c, media) }
}

// canonical is the method's name as documented, or as it came when unknown: the platform ignores the case.
func canonical(method string) string {
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

// dispatch runs a method; s.mu is held.
func (s *Server) dispatch(r *request) any {
	rich := strings.Contains(r.call.Method, "Rich")
	if run, ok := methods()[r.call.Method]; ok && !(rich && s.richless) {
		return run(s, r)
	}
	panic(&apiError{code: http.StatusNotFound, description: "Not Found: method not found"})
}

func (s *Server) getMe(*request) any {
	return wireMe{User: s.me, CanJoinGroups: true, CanReadAllGroupMessages: s.opts.ReadAll}
}

// accept answers what has no effect here.
func (s *Server) accept(*request) any { return true }
