// kube is the Kubernetes that the tests talk to, all of it one program: the first word, or the name that it was started by,
// says which part runs. Every part is Kubernetes' own; only this file is ours.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func runKubectl() int {
	// Says what went wrong, and ends with the status of the command in the pod where there is one.
	kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	return 0
}

// Flags of the parts are global: only the part that was asked for is made.
var parts = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kube-proxy":              func() int { return cli.Run(proxy.NewProxyCommand()) },
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kubectl":                 runKubectl,
}

func main() {
	if _, known := parts[filepath.Base(os.Args[0])]; !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	run, known := parts[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: kube PART [FLAGS], PART being etcd, kube-apiserver, kube-controller-manager, kube-scheduler,")
		fmt.Fprintln(os.Stderr, "kube-proxy, kubelet or kubectl")
		os.Exit(2)
	}
	os.Exit(run())
}
