package homeassistant

import (
	"encoding/json"

	"telex/standin/rig"
)

// command is a message of a client on an open socket.
type command struct {
	// id is positive, or 0 when the message has the wrong form.
	id int64
	// echo is the id as it arrived, for the answer.
	echo json.RawMessage
	kind string
	// fields are those beside id and type.
	fields map[string]any
}

// parseFrame reads what a client sent in one frame: a message, or an array of them. The error means that the server
// closes the connection. Source: homeassistant/components/websocket_api/http.py and connection.py.
func parseFrame(data []byte) ([]command, error) {
	v, err := decode(data)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	commands := make([]command, 0, len(list))
	for _, one := range list {
		commands = append(commands, parseCommand(one))
	}
	return commands, nil
}

func parseCommand(v any) command {
	fields, ok := v.(map[string]any)
	if !ok {
		return command{echo: json.RawMessage("0")}
	}
	c := command{echo: rig.Encode(fields["id"]), fields: fields}
	n, isNumber := fields["id"].(json.Number)
	id, err := n.Int64()
	kind, isText := fields["type"].(string)
	if !isNumber || err != nil || id <= 0 || !isText || kind == "" {
		return c
	}
	c.id, c.kind = id, kind
	delete(fields, "id")
	delete(fields, "type")
	return c
}

// parseAuth reads the first message of a client. The text says what is wrong with it.
func parseAuth(data []byte) (token, wrong string, err error) {
	v, err := decode(data)
	if err != nil {
		return "", "", err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return "", "expected a dictionary", nil
	}
	if kind, ok := fields["type"].(string); !ok || kind != authMethod {
		return "", "not a valid value for dictionary value @ data['type']", nil
	}
	sc := schema{"type": need(strictField), "access_token": may(strictField), "api_password": may(strictField)}
	if wrong := sc.check(fields, ""); wrong != "" {
		return "", wrong, nil
	}
	return text(fields, "access_token"), "", nil
}
