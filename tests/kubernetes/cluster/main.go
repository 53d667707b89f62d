// kube is the control plane that the tests talk to, all of it one program: the first word, or the name that it was
// started by, says which part runs. Every part is Kubernetes' own; only this file is ours.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// Flags of the parts are global: only the part that was asked for is made.
var parts = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
}

func main() {
	if _, known := parts[filepath.Base(os.Args[0])]; !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	run, known := parts[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: kube etcd|kube-apiserver|kube-controller-manager [FLAGS]")
		os.Exit(2)
	}
	os.Exit(run())
}
