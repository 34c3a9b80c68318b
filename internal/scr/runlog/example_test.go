package runlog_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"blobio/internal/scr/runlog"
)

// What a log has on costs and failures, and how often to checkpoint.
func Example() {
	const text = `2026-11-21T01:00:00: host=n1, jobid=7, event=START, procs=4, nodes=4
2026-11-21T01:30:00: host=n1, jobid=7, event=CHECKPOINT_END, dset=1, name="c1", secs=18.000000
2026-11-21T05:00:00: host=n1, jobid=7, event=CHECKPOINT_END, dset=2, name="c2", secs=22.000000
2026-11-21T06:00:00: host=n1, jobid=7, event=NODE_FAIL, note="n3"
2026-11-21T06:01:00: host=n1, jobid=7, event=START, procs=4, nodes=4
2026-11-21T06:01:00: host=n1, jobid=7, eve`
	l, err := runlog.Read(strings.NewReader(text), time.UTC)
	if err != nil {
		log.Fatal(err)
	}
	s := runlog.Analyze(l.Entries)
	mtbf, err := s.MTBF()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("torn:", l.Torn, "failures:", s.Failures)
	fmt.Println("cost", s.Cost, "mean time between failures", mtbf)
	fmt.Println("checkpoint every", runlog.Daly(s.Cost, mtbf).Round(time.Second))
	// Output:
	// torn: true failures: 1
	// cost 20s mean time between failures 5h0m0s
	// checkpoint every 13m55s
}
