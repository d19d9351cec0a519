// env.c - settings of Open MPI, passed by environment variables. Other MPIs ignore them, and
// variables that the user has set win. Open MPI 4.1 reads OMPI_MCA_*, 5.0 also PRTE_MCA_*.
#include <stdlib.h>
#include <string.h>
#include "base/module.h"
#include "runtime/launch/state.h"

static const char *const always[][2] = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},  // containers
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},  // allow more ranks than processors
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},  // data loader threads need processors, too
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    {"OMPI_MCA_orte_execute_quiet", "1"},  // the launcher prints the cause
    {"OMPI_MCA_orte_abort_on_non_zero_status", "0"},
    {"OMPI_MCA_odls_base_sigkill_timeout", "60"},  // the default of 1 s is too short to save
    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},  // not allowed in many containers
    {"OMPI_MCA_shmem_mmap_enable_nfs_warning", "0"},       // of the files below
};

// Session files and shared-memory files go to the launcher's folder, where the next launcher finds
// and removes them if everything was killed.
static const char *const folders[] = {
    "OMPI_MCA_orte_tmpdir_base",
    "PRTE_MCA_prte_tmpdir_base",
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_btl_sm_backing_directory",
};

// Used when all ranks are on this machine, so that nothing listens on the network.
static const char *const local[][2] = {
    {"OMPI_MCA_oob_tcp_if_include", "lo"},
    {"PRTE_MCA_prte_if_include", "lo"},
    {"OMPI_MCA_btl", "self,vader"},  // ranks share memory
    {"OMPI_MCA_pml", "ob1"},         // others look for networks in each rank
    {"PMIX_MCA_gds", "hash"},  // what ranks know of the job: messages, not files that are mapped
};

// Variables by which batch systems or users name other machines to mpirun.
static const char *const naming[] = {
    "PBS_NODEFILE",
    "LSB_HOSTS",
    "LSB_MCPU_HOSTS",
    "LSB_DJOB_HOSTFILE",
    "PE_HOSTFILE",
    "COBALT_NODEFILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
};

bool gr_launch_state_all_local(void) {
  const char *nodes = getenv("SLURM_JOB_NUM_NODES");
  if (!nodes) nodes = getenv("SLURM_NNODES");
  if (nodes && strcmp(nodes, "1")) return false;
  for (size_t i = 0; i < sizeof naming / sizeof *naming; i++)
    if (getenv(naming[i])) return false;
  return true;
}

// Open MPI listens on all interfaces even when it is told to use one. graphrun_local.so, loaded
// before libc, binds to the loopback interface instead. Sanitizers must still be loaded first.
static void listen_on_loopback(void) {
  char path[4096], all[8192];
  const char *others = getenv("LD_PRELOAD");
  if (!gr_module_path("local", path, sizeof path) || strpbrk(path, " :")) return;
  snprintf(all, sizeof all, "%s%s%s", path, others && *others ? ":" : "", others ? others : "");
  setenv("LD_PRELOAD", all, 1);
}

void gr_launch_state_set_environment(const char *folder, const char *launch_state) {
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) setenv(always[i][0], always[i][1], 0);
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) setenv(folders[i], folder, 0);
  setenv(GR_LAUNCH_STATE_ENV, launch_state, 1);
  if (!gr_launch_state_all_local()) return;
  for (size_t i = 0; i < sizeof local / sizeof *local; i++) setenv(local[i][0], local[i][1], 0);
  listen_on_loopback();
}
