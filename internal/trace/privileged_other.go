//go:build !linux

package trace

import "os"

// privileged says whether this program may do more than its caller, who has set its environment.
func privileged() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }
