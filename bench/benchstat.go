package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// benchstatTool is not among the module's requirements: what it needs would become part of
// all modules here.
const benchstatTool = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"

// benchstat compares the forms with three replicas. Without the tool, which has to be
// fetched once, there is no comparison of its kind, and everything else stays.
func benchstat(ctx context.Context, w io.Writer, file string) string {
	cmd := exec.CommandContext(ctx, "go", "run", benchstatTool, "-col", "/by", "-table", "/prepare", "-filter",
		"/by:(plain OR dbresolver_3 OR readsplit_3 OR readsplit_3_session)", file)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = w
	out, err := cmd.Output()
	if err != nil {
		_, _ = fmt.Fprintf(w, "bench: benchstat could not be run: %v\n", err)
		return ""
	}
	return string(out)
}
