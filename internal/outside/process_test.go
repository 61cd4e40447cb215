package outside

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// stopPatience must equal TimeoutStopSec in the service's unit file.
func TestStopPatience(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../deploy/telex.service")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\nTimeoutStopSec=%.0fs\n", stopPatience.Seconds()); !strings.Contains(string(unit), want) {
		t.Errorf("deploy/telex.service does not say %q", want)
	}
}
