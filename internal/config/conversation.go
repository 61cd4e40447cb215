package config

import "time"

// These are the values of conversations.busy, which say what happens to a message that arrives during a turn.
const (
	BusyInterrupt = "interrupt" // the message stops the running turn; in a group, only if it is from the asker
	BusyQueue     = "queue"     // the message waits until the turn has ended
	BusySteer     = "steer"     // the message is added to the running turn
)

// These are the values of conversations.on_edit, which say what happens if the asker edits a question during its turn.
const (
	EditRestart = "restart" // the answer begins anew in the same message
	EditIgnore  = "ignore"
)

// Conversations configures conversations and their storage.
type Conversations struct {
	Busy          string        `yaml:"busy" enum:"interrupt|queue|steer"`
	MaxQueued     int           `yaml:"max_queued" min:"1" max:"1000"` // maximum number of waiting messages per conversation
	FollowThreads bool          `yaml:"follow_threads"`                // threads and reply chains with the bot need no mention
	OnEdit        string        `yaml:"on_edit" enum:"restart|ignore"` // effect of an edit of the question during its turn
	MaxAge        time.Duration `yaml:"max_age"`                       // at a restart, messages that waited longer get only a note
	Retention     time.Duration `yaml:"retention" allow:"zero"`        // history older than this is deleted; 0: never
	Overrides     []Override    `yaml:"overrides"`
}

// Override changes the model, the prompt or the tools of those conversations that its pattern matches.
type Override struct {
	Match        Pattern  `yaml:"match" required:"true"`
	Model        string   `yaml:"model"`
	SystemPrompt string   `yaml:"system_prompt"`
	Tools        []string `yaml:"tools"`
}
