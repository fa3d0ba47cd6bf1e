//! A Python package's shared libraries, by what its installer wrote down. Nothing of the package is imported.

use serde::Deserialize;
use std::path::PathBuf;
use std::process::Command;

/// What an interpreter knows about a package.
#[derive(Debug, Deserialize)]
pub(super) struct Package {
    /// The interpreter.
    pub(super) python: PathBuf,
    /// The package, then the packages that it requires and that are installed.
    pub(super) distributions: Vec<Distribution>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Distribution {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) files: Vec<PathBuf>,
}

const SCRIPT: &str = r#"
import importlib.metadata as metadata, importlib.util, json, os, re, sys
def found(name):
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
def libraries(names):
    return sorted({n for n in names if re.search(r'\.so(\.[0-9.]+)?$', n) and os.path.isfile(n)})
def walk(folder):
    return [os.path.join(top, n) for top, _, files in os.walk(folder) for n in files]
wanted = sys.argv[1]
# What lies in the working folder is no package of the interpreter's.
sys.path = [p for p in sys.path if p]
brought = getattr(metadata, 'packages_distributions', dict)()
first = found(wanted)
# A namespace is brought by several.
names = [first.metadata['Name']] if first else brought.get(wanted.partition('.')[0], [])
out, seen, todo = [], set(), [d for d in map(found, names) if d]
while todo:
    d = todo.pop(0)
    key = re.sub(r'[-_.]+', '-', d.metadata['Name']).lower()
    if key in seen:
        continue
    seen.add(key)
    out.append({'name': d.metadata['Name'], 'version': d.version,
                'files': libraries(str(f.locate()) for f in d.files or [])})
    for r in d.requires or []:
        if 'extra' not in r.partition(';')[2]:
            n = found(re.match(r'[A-Za-z0-9_.-]+', r).group())
            if n is not None:
                todo.append(n)
# Development trees are not written down: a .pth file, or one that it imports, says where they are.
if not (out and out[0]['files']):
    names, spec = [], None
    for module in {wanted.partition('.')[0]} | {m for m in brought if first and first.metadata['Name'] in brought[m]}:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            continue
        if spec:
            names += [n for folder in spec.submodule_search_locations or [] for n in walk(folder)]
            names += [spec.origin] if spec.origin else []
    for f in first.files or [] if first else []:
        if str(f).endswith('.pth'):
            lines = f.read_text().splitlines()
            names += [n for l in lines if os.path.isdir(l.strip()) for n in walk(l.strip())]
    if out:
        out[0]['files'] = libraries(names)
    elif names:
        out.append({'name': wanted, 'version': '', 'files': libraries(names)})
print(json.dumps({'python': os.path.realpath(sys.executable), 'distributions': out}))
"#;

/// Asks `python` for a package; `Ok(None)` where there is none of that name.
pub(super) fn package(python: &str, name: &str) -> Result<Option<Package>, String> {
    let wrong = |why: String| {
        format!("option --python {python}: {why} (expected an interpreter of Python 3.8 or later)")
    };
    let output = Command::new(python)
        .args(["-c", SCRIPT, name])
        // A preload by us would be started for nothing.
        .env_remove("LD_PRELOAD")
        .output()
        .map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.trim().lines().last().unwrap_or("it fails").to_owned();
        return Err(wrong(last));
    }
    let package: Package = serde_json::from_slice(&output.stdout)
        .map_err(|error| wrong(format!("its answer is not understood ({error})")))?;
    Ok((!package.distributions.is_empty()).then_some(package))
}
