package testfiles

import (
	"os/exec"
	"strings"
	"sync"
)

var pythons sync.Map // func() string by modules

// Python returns a Python that has the modules, or "". The first Python on the path is often not the Python for which
// Debian installs modules.
func Python(modules ...string) string {
	names := strings.Join(modules, ", ")
	find, _ := pythons.LoadOrStore(names, sync.OnceValue(func() string {
		if _, err := exec.LookPath("python3"); err != nil {
			return ""
		}
		for _, p := range []string{"/usr/bin/python3", "python3"} {
			if path, err := exec.LookPath(p); err == nil && exec.Command(path, "-c", "import "+names).Run() == nil {
				return path
			}
		}
		return ""
	}))
	return find.(func() string)()
}
