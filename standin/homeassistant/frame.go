package homeassistant

import (
	"encoding/json"

	"telex/standin/rig"
)

// command is a message that a client sends over an open socket.
type command struct {
	// id is the id of the command. The id is positive, or 0 if the message is malformed.
	id int64
	// echo is the id exactly as received. The response contains this id.
	echo json.RawMessage
	kind string
	// fields are all fields except id and type.
	fields map[string]any
}

// parseFrame parses a frame of a client: a message, or an array of messages. If parseFrame returns an error, the server
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

// parseAuth parses the first message of a client. wrong describes the error if the message is not a valid auth message.
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
	sc := schema{"type": requiredField(strictField), "access_token": optionalField(strictField), "api_password": optionalField(strictField)}
	if wrong := sc.check(fields, ""); wrong != "" {
		return "", wrong, nil
	}
	return text(fields, "access_token"), "", nil
}
