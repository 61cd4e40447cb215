package config

import "time"

// These are the values of conversations.busy. The value of conversations.busy says what happens to a message that
// arrives while the bot answers an earlier one.
const (
	BusyInterrupt = "interrupt" // the message stops the running turn; in a group, only a message of the asker does
	BusyQueue     = "queue"     // the message waits until the turn has ended
	BusySteer     = "steer"     // the running turn also answers this message
)

// These are the values of conversations.on_edit. The value of conversations.on_edit says what happens if the asker
// edits a question while the bot answers it.
const (
	EditRestart = "restart" // the bot answers the edited question, in the same message
	EditIgnore  = "ignore"
)

// Conversations is the section conversations, which configures conversations and how long they are stored.
type Conversations struct {
	Busy          string        `yaml:"busy" enum:"interrupt|queue|steer"`
	MaxQueued     int           `yaml:"max_queued" min:"1" max:"1000"` // maximum number of waiting messages per conversation
	FollowThreads bool          `yaml:"follow_threads"`                // no mention needed in threads or reply chains with the bot
	OnEdit        string        `yaml:"on_edit" enum:"restart|ignore"` // what an edit of a question does while the bot answers it
	MaxAge        time.Duration `yaml:"max_age"`                       // after a restart, older messages get a note, not an answer
	Retention     time.Duration `yaml:"retention" allow:"zero"`        // telex deletes history older than this; 0: never
	Overrides     []Override    `yaml:"overrides"`
}

// Override changes the model, the prompt or the tools of the conversations that its pattern matches.
type Override struct {
	Match        Pattern  `yaml:"match" required:"true"`
	Model        string   `yaml:"model"`
	SystemPrompt string   `yaml:"system_prompt"`
	Tools        []string `yaml:"tools"`
}
