package telegram

import (
	"net/http"
	"strings"
)

// methodNames are all methods that exist; the platform ignores their case.
const methodNames = "getMe getUpdates setWebhook deleteWebhook getWebhookInfo sendMessage editMessageText " +
	"deleteMessage deleteMessages sendChatAction setMyCommands getMyCommands deleteMyCommands getChat " +
	"sendMessageDraft answerCallbackQuery sendDocument sendPhoto getFile logOut close"

// canonical is the method's name as documented, or as it came when unknown.
func canonical(method string) string {
	for name := range strings.FieldsSeq(methodNames) {
		if strings.EqualFold(name, method) {
			return name
		}
	}
	return method
}

// dispatch runs a method; s.mu is held.
func (s *Server) dispatch(r *request) (any, *apiError) {
	switch r.call.Method {
	case "getMe":
		return wireMe{User: s.me, CanJoinGroups: true, CanReadAllGroupMessages: s.opts.ReadAll}, nil
	case "setWebhook":
		return s.setWebhook(r.params)
	case "deleteWebhook":
		return s.deleteWebhook(r.params)
	case "getWebhookInfo":
		return s.webhookInfo()
	case "sendMessage":
		return s.sendMessage(r)
	case "editMessageText":
		return s.editMessageText(r)
	case "deleteMessage":
		return s.deleteMessage(r)
	case "deleteMessages":
		return s.deleteMessages(r)
	case "sendChatAction":
		return s.sendChatAction(r)
	case "sendMessageDraft":
		return s.sendMessageDraft(r)
	case "sendDocument":
		return s.sendDocument(r)
	case "sendPhoto":
		return s.sendPhoto(r)
	case "getFile":
		return s.getFile(r)
	case "setMyCommands":
		return s.setMyCommands(r)
	case "getMyCommands":
		return s.getMyCommands(r)
	case "deleteMyCommands":
		return s.deleteMyCommands(r)
	case "getChat":
		return s.getChat(r)
	case "answerCallbackQuery":
		return s.answerCallbackQuery(r)
	case "logOut", "close":
		return true, nil
	}
	return nil, &apiError{code: http.StatusNotFound, description: "Not Found: method not found"}
}
