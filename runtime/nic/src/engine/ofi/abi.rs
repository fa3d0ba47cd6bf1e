//! The part of libfabric's binary interface that is used here: layouts and numbers of `rdma/fabric.h`, `fi_domain.h`,
//! `fi_endpoint.h`, `fi_rma.h`, `fi_eq.h` and `fi_cm.h` of libfabric 1.17. Its manual pages `fi_getinfo(3)`,
//! `fi_domain(3)`, `fi_endpoint(3)`, `fi_rma(3)`, `fi_cq(3)`, `fi_av(3)` and `fi_mr(3)` describe their meaning.
//!
//! Most of libfabric's functions are inline functions of its headers that call through tables of pointers. The
//! library itself exports four symbols; all else comes from these tables. Every table begins with its size, and
//! fields are only added at its end, so that a table may be longer than the one declared here. The test
//! `layouts_are_those_of_the_c_headers` compares all sizes and offsets with the headers, where they are installed.

use core::ffi::{c_char, c_int, c_void};

/// The version of the interface that is asked for: 1.11, as major and minor number.
pub(super) const VERSION: u32 = 1 << 16 | 11;

pub(super) const FI_MSG: u64 = 1 << 1;
pub(super) const FI_RMA: u64 = 1 << 2;
pub(super) const FI_READ: u64 = 1 << 8;
pub(super) const FI_WRITE: u64 = 1 << 9;
pub(super) const FI_RECV: u64 = 1 << 10;
pub(super) const FI_SEND: u64 = 1 << 11;
pub(super) const FI_REMOTE_READ: u64 = 1 << 12;
pub(super) const FI_REMOTE_WRITE: u64 = 1 << 13;
pub(super) const FI_REMOTE_CQ_DATA: u64 = 1 << 17;
pub(super) const FI_COMPLETION: u64 = 1 << 24;
pub(super) const FI_INJECT: u64 = 1 << 25;
pub(super) const FI_INJECT_COMPLETE: u64 = 1 << 26;
pub(super) const FI_DELIVERY_COMPLETE: u64 = 1 << 28;
/// For `fi_getinfo`: node and service are this process's own.
pub(super) const FI_SOURCE: u64 = 1 << 57;

pub(super) const FI_CONTEXT: u64 = 1 << 59;
pub(super) const FI_CONTEXT2: u64 = 1 << 52;

pub(super) const FI_ORDER_RAW: u64 = 1 << 1;
pub(super) const FI_ORDER_WAW: u64 = 1 << 4;
pub(super) const FI_ORDER_SAW: u64 = 1 << 7;
pub(super) const FI_ORDER_SAS: u64 = 1 << 8;

pub(super) const FI_MR_LOCAL: c_int = 1 << 2;
pub(super) const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub(super) const FI_MR_ALLOCATED: c_int = 1 << 5;
pub(super) const FI_MR_PROV_KEY: c_int = 1 << 6;
pub(super) const FI_MR_ENDPOINT: c_int = 1 << 9;

/// `enum fi_ep_type`.
pub(super) const FI_EP_RDM: c_int = 3;
/// `enum fi_threading`.
pub(super) const FI_THREAD_DOMAIN: c_int = 3;
/// `enum fi_resource_mgmt`.
pub(super) const FI_RM_ENABLED: c_int = 2;
/// `enum fi_cq_format`.
pub(super) const FI_CQ_FORMAT_DATA: c_int = 3;
/// `enum fi_wait_obj`.
pub(super) const FI_WAIT_NONE: c_int = 0;
/// `enum fi_wait_obj`.
pub(super) const FI_WAIT_FD: c_int = 3;
/// Commands of `fi_control`.
pub(super) const FI_GETWAIT: c_int = 5;
/// Commands of `fi_control`.
pub(super) const FI_ENABLE: c_int = 6;

/// `FI_SOCKADDR`, `FI_SOCKADDR_IN` and `FI_SOCKADDR_IN6`: internet addresses.
pub(super) const FI_SOCKADDR: core::ops::RangeInclusive<u32> = 1..=3;

pub(super) const FI_EAGAIN: isize = 11;
pub(super) const FI_EAVAIL: isize = 259;

/// `struct fi_tx_attr`.
#[repr(C)]
pub(super) struct TxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) inject_size: usize,
    pub(super) size: usize,
    pub(super) iov_limit: usize,
    pub(super) rma_iov_limit: usize,
    pub(super) tclass: u32,
}

/// `struct fi_rx_attr`.
#[repr(C)]
pub(super) struct RxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) total_buffered_recv: usize,
    pub(super) size: usize,
    pub(super) iov_limit: usize,
}

/// `struct fi_ep_attr`.
#[repr(C)]
pub(super) struct EpAttr {
    pub(super) kind: c_int,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: usize,
    pub(super) msg_prefix_size: usize,
    pub(super) max_order_raw_size: usize,
    pub(super) max_order_war_size: usize,
    pub(super) max_order_waw_size: usize,
    pub(super) mem_tag_format: u64,
    pub(super) tx_ctx_cnt: usize,
    pub(super) rx_ctx_cnt: usize,
    pub(super) auth_key_size: usize,
    pub(super) auth_key: *mut u8,
}

/// `struct fi_domain_attr`.
#[repr(C)]
pub(super) struct DomainAttr {
    pub(super) domain: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_mgmt: c_int,
    pub(super) av_type: c_int,
    pub(super) mr_mode: c_int,
    pub(super) mr_key_size: usize,
    pub(super) cq_data_size: usize,
    pub(super) cq_cnt: usize,
    pub(super) ep_cnt: usize,
    pub(super) tx_ctx_cnt: usize,
    pub(super) rx_ctx_cnt: usize,
    pub(super) max_ep_tx_ctx: usize,
    pub(super) max_ep_rx_ctx: usize,
    pub(super) max_ep_stx_ctx: usize,
    pub(super) max_ep_srx_ctx: usize,
    pub(super) cntr_cnt: usize,
    pub(super) mr_iov_limit: usize,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) auth_key: *mut u8,
    pub(super) auth_key_size: usize,
    pub(super) max_err_data: usize,
    pub(super) mr_cnt: usize,
    pub(super) tclass: u32,
}

/// `struct fi_fabric_attr`.
#[repr(C)]
pub(super) struct FabricAttr {
    pub(super) fabric: *mut Fabric,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
    pub(super) prov_version: u32,
    pub(super) api_version: u32,
}

/// `struct fi_info`.
#[repr(C)]
pub(super) struct Info {
    pub(super) next: *mut Info,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: usize,
    pub(super) dest_addrlen: usize,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: *mut Fid,
    pub(super) tx_attr: *mut TxAttr,
    pub(super) rx_attr: *mut RxAttr,
    pub(super) ep_attr: *mut EpAttr,
    pub(super) domain_attr: *mut DomainAttr,
    pub(super) fabric_attr: *mut FabricAttr,
    pub(super) nic: *mut c_void,
}

/// `struct fi_ops`: what every object can do.
#[repr(C)]
pub(super) struct Ops {
    pub(super) size: usize,
    pub(super) close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub(super) bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub(super) control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

/// `struct fid`: what every object begins with.
#[repr(C)]
pub(super) struct Fid {
    pub(super) fclass: usize,
    pub(super) context: *mut c_void,
    pub(super) ops: *const Ops,
}

/// `struct fi_ops_fabric`.
#[repr(C)]
pub(super) struct OpsFabric {
    pub(super) size: usize,
    pub(super) domain:
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    pub(super) passive_ep: *const c_void,
    pub(super) eq_open: *const c_void,
    pub(super) wait_open: *const c_void,
    pub(super) trywait: unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int,
}

/// `struct fid_fabric`.
#[repr(C)]
pub(super) struct Fabric {
    pub(super) fid: Fid,
    pub(super) ops: *const OpsFabric,
    pub(super) api_version: u32,
}

/// `struct fi_ops_domain`.
#[repr(C)]
pub(super) struct OpsDomain {
    pub(super) size: usize,
    pub(super) av_open:
        unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub(super) cq_open:
        unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub(super) endpoint:
        unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int,
}

/// `struct fi_ops_mr`.
#[repr(C)]
pub(super) struct OpsMr {
    pub(super) size: usize,
    /// Object, memory, bytes, access, offset, key, flags; stores the region.
    pub(super) reg: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut Mr,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_domain`.
#[repr(C)]
pub(super) struct Domain {
    pub(super) fid: Fid,
    pub(super) ops: *const OpsDomain,
    pub(super) mr: *const OpsMr,
}

/// `struct fid_mr`.
#[repr(C)]
pub(super) struct Mr {
    pub(super) fid: Fid,
    pub(super) mem_desc: *mut c_void,
    pub(super) key: u64,
}

/// `struct fi_av_attr`.
#[repr(C)]
pub(super) struct AvAttr {
    pub(super) kind: c_int,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: usize,
    pub(super) ep_per_node: usize,
    pub(super) name: *const c_char,
    pub(super) map_addr: *mut c_void,
    pub(super) flags: u64,
}

/// `struct fi_ops_av`.
#[repr(C)]
pub(super) struct OpsAv {
    pub(super) size: usize,
    pub(super) insert:
        unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

/// `struct fid_av`.
#[repr(C)]
pub(super) struct Av {
    pub(super) fid: Fid,
    pub(super) ops: *const OpsAv,
}

/// `struct fi_cq_attr`.
#[repr(C)]
pub(super) struct CqAttr {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait_obj: c_int,
    pub(super) signaling_vector: c_int,
    pub(super) wait_cond: c_int,
    pub(super) wait_set: *mut c_void,
}

/// `struct fi_cq_data_entry`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CqEntry {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
}

/// `struct fi_cq_err_entry`.
#[repr(C)]
pub(super) struct CqError {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: usize,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: usize,
}

/// `struct fi_ops_cq`.
#[repr(C)]
pub(super) struct OpsCq {
    pub(super) size: usize,
    pub(super) read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    pub(super) readfrom: *const c_void,
    pub(super) readerr: unsafe extern "C" fn(*mut Cq, *mut CqError, u64) -> isize,
}

/// `struct fid_cq`.
#[repr(C)]
pub(super) struct Cq {
    pub(super) fid: Fid,
    pub(super) ops: *const OpsCq,
}

/// `struct fi_ops_cm`.
#[repr(C)]
pub(super) struct OpsCm {
    pub(super) size: usize,
    pub(super) setname: *const c_void,
    pub(super) getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

/// `struct fi_ops_msg`.
#[repr(C)]
pub(super) struct OpsMsg {
    pub(super) size: usize,
    /// Endpoint, memory, bytes, its descriptor, source, context.
    pub(super) recv:
        unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub(super) recvv: *const c_void,
    pub(super) recvmsg: *const c_void,
    /// Endpoint, memory, bytes, its descriptor, target, context.
    pub(super) send:
        unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub(super) sendv: *const c_void,
    pub(super) sendmsg: *const c_void,
    /// Endpoint, memory, bytes, target.
    pub(super) inject: unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64) -> isize,
}

/// `struct fi_ops_rma`.
#[repr(C)]
pub(super) struct OpsRma {
    pub(super) size: usize,
    /// Endpoint, memory, bytes, its descriptor, source, address and key there, context.
    pub(super) read: unsafe extern "C" fn(
        *mut Ep,
        *mut c_void,
        usize,
        *mut c_void,
        u64,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
    pub(super) readv: *const c_void,
    pub(super) readmsg: *const c_void,
    pub(super) write: *const c_void,
    pub(super) writev: *const c_void,
    pub(super) writemsg: unsafe extern "C" fn(*mut Ep, *const MsgRma, u64) -> isize,
}

/// `struct fi_rma_iov`.
#[repr(C)]
pub(super) struct RmaIov {
    pub(super) addr: u64,
    pub(super) len: usize,
    pub(super) key: u64,
}

/// `struct fi_msg_rma`.
#[repr(C)]
pub(super) struct MsgRma {
    pub(super) msg_iov: *const libc::iovec,
    pub(super) desc: *const *mut c_void,
    pub(super) iov_count: usize,
    pub(super) addr: u64,
    pub(super) rma_iov: *const RmaIov,
    pub(super) rma_iov_count: usize,
    pub(super) context: *mut c_void,
    pub(super) data: u64,
}

/// `struct fid_ep`.
#[repr(C)]
pub(super) struct Ep {
    pub(super) fid: Fid,
    pub(super) ops: *const c_void,
    pub(super) cm: *const OpsCm,
    pub(super) msg: *const OpsMsg,
    pub(super) rma: *const OpsRma,
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;
    use std::process::Command;

    /// A C expression, and the value that this module has for it.
    type Fact = (String, u64);

    macro_rules! layout {
        ($facts:ident, $c:literal, $rust:ty $(, $field:ident as $name:literal)*) => {
            $($facts.push((
                format!("offsetof(struct {}, {})", $c, $name),
                offset_of!($rust, $field) as u64,
            ));)*
        };
        (whole $facts:ident, $c:literal, $rust:ty $(, $field:ident as $name:literal)*) => {
            $facts.push((format!("sizeof(struct {})", $c), size_of::<$rust>() as u64));
            layout!($facts, $c, $rust $(, $field as $name)*);
        };
    }

    macro_rules! numbers {
        ($facts:ident $(, $name:ident)*) => {
            $($facts.push((stringify!($name).to_owned(), $name as u64));)*
        };
    }

    fn facts() -> Vec<Fact> {
        let mut f = Vec::new();
        layout!(whole f, "fi_tx_attr", TxAttr, caps as "caps", mode as "mode", op_flags as "op_flags",
            msg_order as "msg_order", inject_size as "inject_size", size as "size", rma_iov_limit as "rma_iov_limit",
            tclass as "tclass");
        layout!(whole f, "fi_rx_attr", RxAttr, caps as "caps", msg_order as "msg_order", size as "size",
            iov_limit as "iov_limit");
        layout!(whole f, "fi_ep_attr", EpAttr, kind as "type", protocol as "protocol",
            max_msg_size as "max_msg_size", max_order_raw_size as "max_order_raw_size",
            max_order_waw_size as "max_order_waw_size", auth_key as "auth_key");
        layout!(whole f, "fi_domain_attr", DomainAttr, name as "name", threading as "threading",
            data_progress as "data_progress", resource_mgmt as "resource_mgmt", mr_mode as "mr_mode",
            mr_key_size as "mr_key_size", cq_data_size as "cq_data_size", caps as "caps", mode as "mode",
            mr_cnt as "mr_cnt", tclass as "tclass");
        layout!(whole f, "fi_fabric_attr", FabricAttr, fabric as "fabric", name as "name",
            prov_name as "prov_name", api_version as "api_version");
        layout!(whole f, "fi_info", Info, next as "next", caps as "caps", mode as "mode",
            addr_format as "addr_format", src_addrlen as "src_addrlen", src_addr as "src_addr",
            handle as "handle", tx_attr as "tx_attr", rx_attr as "rx_attr", ep_attr as "ep_attr",
            domain_attr as "domain_attr", fabric_attr as "fabric_attr", nic as "nic");
        layout!(f, "fi_ops", Ops, close as "close", bind as "bind", control as "control");
        layout!(whole f, "fid", Fid, fclass as "fclass", context as "context", ops as "ops");
        layout!(f, "fi_ops_fabric", OpsFabric, domain as "domain", trywait as "trywait");
        layout!(whole f, "fid_fabric", Fabric, ops as "ops", api_version as "api_version");
        layout!(f, "fi_ops_domain", OpsDomain, av_open as "av_open", cq_open as "cq_open",
            endpoint as "endpoint");
        layout!(f, "fi_ops_mr", OpsMr, reg as "reg");
        layout!(whole f, "fid_domain", Domain, ops as "ops", mr as "mr");
        layout!(whole f, "fid_mr", Mr, mem_desc as "mem_desc", key as "key");
        layout!(whole f, "fi_av_attr", AvAttr, kind as "type", count as "count", flags as "flags");
        layout!(f, "fi_ops_av", OpsAv, insert as "insert");
        layout!(whole f, "fid_av", Av, ops as "ops");
        layout!(whole f, "fi_cq_attr", CqAttr, size as "size", flags as "flags", format as "format",
            wait_obj as "wait_obj", wait_set as "wait_set");
        layout!(whole f, "fi_cq_data_entry", CqEntry, op_context as "op_context", flags as "flags",
            len as "len", buf as "buf", data as "data");
        layout!(whole f, "fi_cq_err_entry", CqError, op_context as "op_context", flags as "flags",
            err as "err", prov_errno as "prov_errno", err_data as "err_data",
            err_data_size as "err_data_size");
        layout!(f, "fi_ops_cq", OpsCq, read as "read", readerr as "readerr");
        layout!(whole f, "fid_cq", Cq, ops as "ops");
        layout!(f, "fi_ops_cm", OpsCm, getname as "getname");
        layout!(f, "fi_ops_msg", OpsMsg, recv as "recv", send as "send", inject as "inject");
        layout!(f, "fi_ops_rma", OpsRma, read as "read", writemsg as "writemsg");
        layout!(whole f, "fi_rma_iov", RmaIov, addr as "addr", len as "len", key as "key");
        layout!(whole f, "fi_msg_rma", MsgRma, msg_iov as "msg_iov", desc as "desc", iov_count as "iov_count",
            addr as "addr", rma_iov as "rma_iov", rma_iov_count as "rma_iov_count", context as "context",
            data as "data");
        layout!(f, "fid_ep", Ep, ops as "ops", cm as "cm", msg as "msg", rma as "rma");
        numbers!(
            f,
            FI_MSG,
            FI_RMA,
            FI_READ,
            FI_WRITE,
            FI_RECV,
            FI_SEND,
            FI_REMOTE_READ,
            FI_REMOTE_WRITE,
            FI_REMOTE_CQ_DATA,
            FI_COMPLETION,
            FI_INJECT,
            FI_INJECT_COMPLETE,
            FI_DELIVERY_COMPLETE,
            FI_SOURCE,
            FI_CONTEXT,
            FI_CONTEXT2,
            FI_ORDER_RAW,
            FI_ORDER_WAW,
            FI_ORDER_SAW,
            FI_ORDER_SAS,
            FI_MR_LOCAL,
            FI_MR_VIRT_ADDR,
            FI_MR_ALLOCATED,
            FI_MR_PROV_KEY,
            FI_MR_ENDPOINT,
            FI_EP_RDM,
            FI_THREAD_DOMAIN,
            FI_RM_ENABLED,
            FI_CQ_FORMAT_DATA,
            FI_WAIT_NONE,
            FI_WAIT_FD,
            FI_GETWAIT,
            FI_ENABLE,
            FI_EAGAIN,
            FI_EAVAIL
        );
        f.push(("FI_SOCKADDR".to_owned(), u64::from(*FI_SOCKADDR.start())));
        f.push(("FI_SOCKADDR_IN6".to_owned(), u64::from(*FI_SOCKADDR.end())));
        f.push(("FI_VERSION(1, 11)".to_owned(), u64::from(VERSION)));
        f
    }

    #[test]
    fn layouts_are_those_of_the_c_headers() {
        let headers = [
            "fabric.h",
            "fi_domain.h",
            "fi_endpoint.h",
            "fi_rma.h",
            "fi_eq.h",
            "fi_cm.h",
            "fi_errno.h",
        ];
        let mut source = String::from("#include <stddef.h>\n#include <stdio.h>\n");
        for h in headers {
            source += &format!("#include <rdma/{h}>\n");
        }
        let facts = facts();
        source += "int main(void) {\n";
        for (c, _) in &facts {
            source += &format!("printf(\"%llu\\n\", (unsigned long long)({c}));\n");
        }
        source += "return 0;\n}\n";
        let folder = std::env::temp_dir().join(format!("hetmp-ofi-layouts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, program) = (folder.join("layouts.c"), folder.join("layouts"));
        std::fs::write(&file, source).expect("written");
        let compiled = Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(&file)
            .output();
        let compiled = match compiled {
            Ok(out) => out,
            Err(e) => {
                eprintln!("skipped: cc: {e}");
                return;
            }
        };
        if !compiled.status.success() {
            let text = String::from_utf8_lossy(&compiled.stderr).into_owned();
            assert!(text.contains("rdma/fabric.h"), "{text}");
            eprintln!("skipped: libfabric's headers (Debian: libfabric-dev) are not installed");
            return;
        }
        let out = Command::new(&program).output().expect("runs").stdout;
        let out = String::from_utf8_lossy(&out).into_owned();
        let theirs: Vec<u64> = out.lines().map(|l| l.parse().expect("a number")).collect();
        assert_eq!(theirs.len(), facts.len());
        for ((c, ours), theirs) in facts.iter().zip(theirs) {
            assert_eq!(*ours, theirs, "{c}");
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}
