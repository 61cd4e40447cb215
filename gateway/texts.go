package gateway

import (
	"maps"
	"slices"
	"strings"

	"telex/agent"
	"telex/gateway/approval"
)

// Texts are the fixed texts that people see, by key.
type Texts map[TextKey]string

// TextKey is the key of a fixed text.
type TextKey string

// These are the keys of the fixed texts. The comment behind a key lists the placeholders of its text. {id} is the id of
// the turn in the log.
const (
	TextFailed      TextKey = "failed"        // {id}; internal error
	TextUnsaved     TextKey = "unsaved"       // {id}; the store fails, and the question waits until the store works again
	TextModel       TextKey = "model_trouble" // {id}; the model could not be used
	TextTimeLimit   TextKey = "time_limit"    // {id}; the turn took too long
	TextFirstToken  TextKey = "first_token"   // {id}; the model did not begin to answer
	TextSilence     TextKey = "silence"       // {id}; the model stopped writing in the middle of its answer
	TextCallLimit   TextKey = "call_limit"    // {id}; too many model or tool calls
	TextLength      TextKey = "length"
	TextToolLimit   TextKey = "tool_limit" // agent.limits.tool_calls is reached; shown below the partial answer
	TextStepLimit   TextKey = "step_limit" // agent.limits.model_calls is reached
	TextFiltered    TextKey = "filtered"
	TextRefused     TextKey = "refused"
	TextEmpty       TextKey = "empty"
	TextThinking    TextKey = "only_thinking"
	TextNoTool      TextKey = "no_tool"
	TextStopped     TextKey = "stopped"
	TextStopMark    TextKey = "stopped_mark" // shown below a stopped or interrupted answer
	TextNothing     TextKey = "nothing_to_stop"
	TextNew         TextKey = "new_conversation"
	TextQueueFull   TextKey = "queue_full"
	TextInterrupted TextKey = "interrupted"  // {id}; a restart interrupted the answer, which is too old to be continued
	TextLate        TextKey = "late"         // the message waited too long while the bot was down
	TextRest        TextKey = "rest_in_file" // caption of the file with the rest of a long answer
	TextFilesLeft   TextKey = "files_left"   // {files}; files of an answer that can't be sent
	TextUnsupported TextKey = "unsupported"  // the message has no readable content
	TextMentioned   TextKey = "mentioned"    // the message contains nothing but the bot's name
	TextHelp        TextKey = "help"         // {commands} {attachments}
	TextAttachments TextKey = "attachments"  // part of the help in chats that support attachments
	TextDidYouMean  TextKey = "did_you_mean" // {command}

	TextNoRoom     TextKey = "no_room"    // the configuration leaves no room for a message
	TextTooLong    TextKey = "too_long"   // the message is too long for any model
	TextTooFast    TextKey = "too_fast"   // access.limits.turns_per_minute is reached
	TextTooMany    TextKey = "too_many"   // too many turns in one conversation
	TextDaySpent   TextKey = "day_spent"  // access.limits.tokens_per_day is reached
	TextAllSpent   TextKey = "all_spent"  // access.limits.tokens_per_day_total is reached
	TextCompacted  TextKey = "summarized" // the beginning of the conversation was summarized; sent once per conversation
	TextNoVoice    TextKey = "no_voice"   // the message is a voice message, and no transcriber is configured
	TextUnreadable TextKey = "unreadable" // {files}; attachments that could not be read

	TextUndone         TextKey = "undone"
	TextNothingToUndo  TextKey = "nothing_to_undo"
	TextNothingToRetry TextKey = "nothing_to_retry"
	TextForgotten      TextKey = "forgotten"
	TextModels         TextKey = "models"       // {model} {models} {slash}; {slash} is the command prefix
	TextModelChosen    TextKey = "model_chosen" // {model}
	TextNoModel        TextKey = "no_model"     // {models}
	TextStatus         TextKey = "status"       // {model} {answered} {context} {window} {messages} {compactions} {state} {waiting}
	TextIdle           TextKey = "idle"         // state of a conversation without a running turn
	TextBusy           TextKey = "busy"         // {time}; state of a conversation with a running turn
	TextUsage          TextKey = "usage"        // {here} {here_answers} {today} {today_answers}

	TextPair        TextKey = "pair_code" // {code}; to a person without access
	TextPairs       TextKey = "pairs"     // {waiting} {admitted} {slash}
	TextAdmitted    TextKey = "admitted"  // {person}
	TextRevoked     TextKey = "dismissed" // {person}
	TextNoCode      TextKey = "no_code"
	TextNobody      TextKey = "nobody" // {slash}
	TextNotAdmin    TextKey = "not_admin"
	TextPrivateOnly TextKey = "private_only"
	TextNoAccess    TextKey = "no_access"  // to a person without access, if the platform requires an answer
	TextUnstored    TextKey = "not_stored" // the message could not be stored

	TextApproval      TextKey = "approval"           // {what} {how} {id} {slash}; the action that a tool is about to do
	TextHow           TextKey = "approval_how"       // {id} {slash}; how to decide, in private chats
	TextHowGroup      TextKey = "approval_how_group" // {id} {slash}; how to decide in groups, where a plain yes does not reach the bot
	TextShow          TextKey = "approval_show"      // {id} {slash}; how to read a question that does not fit into the message
	TextApproveButton TextKey = "approve_button"
	TextDenyButton    TextKey = "deny_button"
	TextAlwaysButton  TextKey = "always_button" // approve this and all later calls of the tool in this conversation
	TextYes           TextKey = "yes_words"     // words that mean yes, separated by commas
	TextNo            TextKey = "no_words"
	TextNoProposal    TextKey = "no_proposal"
	TextNotYours      TextKey = "not_yours_to_decide"
	TextUnasked       TextKey = "nobody_to_ask"      // below an answer: a tool call needed an approval, but the turn is unattended
	TextUndecided     TextKey = "nobody_decided"     // below an answer: nobody decided about a tool call within tools.approval_timeout
	TextWithdrawn     TextKey = "question_withdrawn" // {what}; another message interrupted the answer instead of a yes or no
	TextDecideFirst   TextKey = "decide_first"       // another message came instead of a yes or no, and waits for the decision
	TextCarriedOut    TextKey = "carried_out"        // {what}; an approved call that finished before its answer was interrupted
	TextCallFailed    TextKey = "call_failed"        // {what}; an approved call that failed before its answer was interrupted
	TextCallUnknown   TextKey = "call_unknown"       // {what}; an approved call whose outcome is unknown
	TextAwaits        TextKey = "awaits_approval"    // state of a conversation that waits for a person's decision

	TextMemory       TextKey = "memory" // {facts} {slash}
	TextNoMemory     TextKey = "memory_empty"
	TextFactGone     TextKey = "fact_forgotten"
	TextAllFactsGone TextKey = "facts_forgotten"
	TextNoFact       TextKey = "no_fact" // {slash}

	TextStopButton TextKey = "stop_button" // label of the button that stops an answer

	TextGreeting TextKey = "greeting" // to a person who opened the platform's pane for chats with the bot
	TextPrompts  TextKey = "prompts"  // questions that the pane suggests; see ParsePrompts
)

// DefaultTexts returns every fixed text in English. The descriptions of commands come from the function commands. The
// texts that replace a missing answer come from package agent.
func DefaultTexts() Texts {
	l := agent.DefaultLines()
	t := Texts{
		TextFailed:      "⚠️ Something went wrong here. (error {id})",
		TextUnsaved:     "⚠️ I can't save anything just now. I will answer as soon as I can. (error {id})",
		TextModel:       "⚠️ The model isn't available right now. (error {id})",
		TextTimeLimit:   "⚠️ This took too long, so I stopped. (error {id})",
		TextFirstToken:  "⚠️ The model did not start to answer in time. (error {id})",
		TextSilence:     "⚠️ The model stopped answering. (error {id})",
		TextCallLimit:   "⚠️ This needed too many steps, so I stopped. (error {id})",
		TextLength:      l[agent.StopLength],
		TextToolLimit:   l[agent.StopToolCalls],
		TextStepLimit:   l[agent.StopCalls],
		TextFiltered:    l[agent.StopFiltered],
		TextRefused:     l[agent.StopRefused],
		TextEmpty:       l[agent.StopEmpty],
		TextThinking:    l[agent.StopThinking],
		TextNoTool:      l[agent.StopNoTool],
		TextStopped:     "Stopped.",
		TextStopMark:    "(stopped)",
		TextNothing:     "Nothing is running.",
		TextNew:         "New conversation. I've forgotten the previous one.",
		TextQueueFull:   "Too many messages are waiting. Please send this again later.",
		TextInterrupted: "⚠️ I was interrupted here. Please ask again. (error {id})",
		TextLate:        "I was away when you wrote this. Please send it again if it still matters.",
		TextRest:        "The rest of this answer is in the file.",
		TextFilesLeft:   "I could not send {files} here.",
		TextUnsupported: "I can't read this kind of message. Please write it as text.",
		TextMentioned:   "How can I help? Please write your question in the same message as my name.",
		TextHelp:        "Write to me and I answer.{attachments}\n\n{commands}",
		TextAttachments: " You can attach pictures and text files.",
		TextDidYouMean:  "Did you mean {command}?",

		TextNoRoom:     l[agent.StopNoRoom],
		TextTooLong:    l[agent.StopTooLong],
		TextTooFast:    "That was a lot in a short time. Please wait a minute and send this again.",
		TextTooMany:    "This conversation is too fast for me. Please wait a minute and send this again.",
		TextDaySpent:   "You've reached today's limit. Please come back tomorrow.",
		TextAllSpent:   "This bot has reached today's limit. Please come back tomorrow.",
		TextCompacted:  "Our conversation is long, so I now keep a summary of its beginning.",
		TextNoVoice:    "I can't listen to this here. Please write it as text.",
		TextUnreadable: "I could not read {files}. I can read text and pictures.",

		TextStopButton: "Stop",

		TextGreeting: "Hi! How can I help?",
		TextPrompts: "What can you do?\n" +
			"Explain something | I want to understand something. Ask me what, then explain it step by step.\n" +
			"Write a message | I want to write a message. Ask me what you need to know, then write a draft.\n" +
			"Find ideas | I need ideas. Ask me what for, then list some.",

		TextNoAccess: "You don't have access to this bot. Its operator can let you in.",
		TextUnstored: "⚠️ I couldn't save your message. Please send it again.",

		TextApproval:      "Allow this?\n{what}\n{how}",
		TextHow:           "Reply yes or no, or use {slash}approve {id} or {slash}deny {id}",
		TextHowGroup:      "To decide: {slash}approve {id} or {slash}deny {id}",
		TextShow:          "– To read all of it: {slash}approve {id} show",
		TextApproveButton: "Approve",
		TextDenyButton:    "Deny",
		TextAlwaysButton:  "Always here",
		TextYes:           approval.YesWords,
		TextNo:            approval.NoWords,
		TextNoProposal:    "There is no open question here, or it has already been answered.",
		TextNotYours:      "Only the person who asked, or an admin, can decide this.",
		TextUnasked:       "I didn't do something that needs approval, because I can't ask anybody here.",
		TextUndecided:     "I didn't do something that needs approval, because nobody decided in time.",
		TextWithdrawn:     "That was not a plain yes or no, so I did not do this: {what}",
		TextDecideFirst:   "I'll get to that. First, please answer my question above with yes or no.",
		TextCarriedOut:    "This was done before the answer was interrupted: {what}",
		TextCallFailed:    "This was tried before the answer was interrupted, and failed: {what}",
		TextCallUnknown:   "⚠️ I don't know whether this was done: {what} Please check before you ask for it again.",
		TextAwaits:        "waiting for an approval",

		TextMemory:       "What I remember about you:\n{facts}\n\n{slash}memory forget NUMBER, or {slash}memory forget all",
		TextNoMemory:     "I haven't saved anything about you yet. Ask me to remember something.",
		TextFactGone:     "I have forgotten it.",
		TextAllFactsGone: "I have forgotten everything I remembered about you.",
		TextNoFact:       "There is no entry with this number. {slash}memory shows the list.",

		TextUndone:         "I have forgotten the last question and its answer.",
		TextNothingToUndo:  "There is nothing to undo.",
		TextNothingToRetry: "There is nothing to ask again.",
		TextForgotten:      "I have forgotten everything that you asked me here.",
		TextModels:         "Model: `{model}`.\n\n{models}\n\nTo change it: {slash}model NAME",
		TextModelChosen:    "Model: `{model}` from now on.",
		TextNoModel:        "There is no such model. You can choose from:\n\n{models}",
		TextStatus: "Model: `{model}`\nLast answer by: `{answered}`\nContext: about {context} of {window} tokens\nMessages: {messages}\n" +
			"Summaries: {compactions}\nNow: {state}\nWaiting: {waiting}",
		TextIdle:  "idle",
		TextBusy:  "answering for {time}",
		TextUsage: "Tokens in this conversation: {here} (answers: {here_answers})\nYour tokens today: {today} (answers: {today_answers})",

		TextPair: "You don't have access yet. Your code is `{code}`; it is valid for one hour. Give it to the person who runs this bot. " +
			"Once you have access, write to me again.",
		TextPairs:       "Waiting for access:\n{waiting}\n\nGot access by a code:\n{admitted}\n\n{slash}pair CODE lets somebody in, {slash}pair revoke PERSON removes their access.",
		TextAdmitted:    "{person} now has access.",
		TextRevoked:     "{person} no longer has access.",
		TextNoCode:      "There is no such code, or it is no longer valid.",
		TextNobody:      "Nobody with this id got access by a code. Copy the id from the list that {slash}pair shows; it looks like endpoint:user:ID.",
		TextNotAdmin:    "This is for the admins of this bot.",
		TextPrivateOnly: "Please send me this in a private chat.",
	}
	for _, c := range commands() {
		t[c.textKey()] = c.help
	}
	return t
}

// TextKeys returns the keys that the configuration may set, sorted.
func TextKeys() []string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(DefaultTexts())) {
		keys = append(keys, string(k))
	}
	return keys
}

// With returns a copy of the texts in which the operator's own lines replace the defaults. With ignores unknown keys
// and empty lines.
func (t Texts) With(own map[string]string) Texts {
	t = maps.Clone(t)
	for k, line := range own {
		if _, known := t[TextKey(k)]; known && line != "" {
			t[TextKey(k)] = line
		}
	}
	return t
}

// The method line returns a fixed text in which the short form of id replaces the placeholder {id}.
func (t Texts) line(k TextKey, id string) string {
	return strings.ReplaceAll(t[k], "{id}", shortID(id))
}

// fill returns a fixed text with its placeholders filled in. The parameter places contains the name and the value of
// each placeholder in turn.
func (t Texts) fill(k TextKey, places ...string) string { return fill(t[k], places...) }

func fill(line string, places ...string) string {
	var pairs []string
	for i := 0; i+1 < len(places); i += 2 {
		pairs = append(pairs, "{"+places[i]+"}", places[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(line)
}

// failure returns the key of the text for a turn that ended without an answer.
func failure(stop agent.StopReason) TextKey {
	switch stop {
	case agent.StopTimeLimit:
		return TextTimeLimit
	case agent.StopFirstToken:
		return TextFirstToken
	case agent.StopSilence:
		return TextSilence
	case agent.StopCalls:
		return TextCallLimit
	case agent.StopError:
		return TextModel
	default:
		return TextFailed
	}
}
